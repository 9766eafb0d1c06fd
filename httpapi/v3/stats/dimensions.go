package stats

import (
	"errors"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/decode"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/v3/catchup"
	"linkledger/httpapi/v3/selection"
	"linkledger/queries"
)

// dimensionsAnswer answers calls about what clicks tell of their visitors.
type dimensionsAnswer struct {
	response.Envelope
	Dimensions dimensionsRecord `json:"dimensions"`
}

// dimensionsRecord has the values of each dimension, the most frequent first. Clicks that tell none
// are left out.
type dimensionsRecord struct {
	Hash     string        `json:"hash"`
	Referrer []valueRecord `json:"referrer"`
	Country  []valueRecord `json:"country"`
	Browser  []valueRecord `json:"browser"`
	OS       []valueRecord `json:"os"`
	Device   []valueRecord `json:"device"`
}

type valueRecord struct {
	Value  string `json:"value"` // "other": all that have no entry
	Clicks int64  `json:"clicks"`
}

// Dimensions counts the clicks on a URL by what they tell of their visitors.
func (h *Handler) Dimensions(c *request.Context) (any, error) {
	of, err := h.dimensionsOf(c)
	if err != nil {
		return nil, err
	}
	h.Waiter.AwaitClicks(c, catchup.Dimensions)
	values, err := h.Queries.Dimensions(c.Context(), of)
	if err != nil {
		return nil, apierror.Unavailable(err)
	}
	counts := dimensionsRecord{
		Hash: of.Hash, Referrer: []valueRecord{}, Country: []valueRecord{},
		Browser: []valueRecord{}, OS: []valueRecord{},
		Device: []valueRecord{},
	}
	lists := map[string]*[]valueRecord{
		"referrer": &counts.Referrer, "country": &counts.Country, "browser": &counts.Browser,
		"os":     &counts.OS,
		"device": &counts.Device,
	}
	for _, v := range values {
		if list, ok := lists[v.Dimension]; ok {
			*list = append(*list, valueRecord{v.Value, v.Clicks})
		}
	}
	return dimensionsAnswer{Envelope: response.Succeeded(), Dimensions: counts}, nil
}

func (h *Handler) dimensionsOf(c *request.Context) (queries.DimensionsOf, error) {
	hash, err := selection.PathHash(c)
	if err != nil {
		return queries.DimensionsOf{}, err
	}
	query, err := decode.Query(c)
	if err != nil {
		return queries.DimensionsOf{}, err
	}
	list := selection.Page{Limit: h.Pages.Default}
	of := queries.DimensionsOf{Account: c.Account.ID, Hash: hash}
	if err := errors.Join(
		decode.Number(query, "limit", &list.Limit), decode.Date(query, "from", &of.From),
		decode.Date(query, "to", &of.To),
	); err != nil {
		return queries.DimensionsOf{}, err
	}
	of.Limit = min(list.Limit, h.Pages.Max)
	return of, decode.Check(list, "")
}
