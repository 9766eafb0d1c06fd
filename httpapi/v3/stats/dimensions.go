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

// dimensionsResponse is the response of calls about the dimensions of clicks.
type dimensionsResponse struct {
	response.Envelope
	Dimensions dimensionsRecord `json:"dimensions"`
}

// dimensionsRecord has the values of each dimension, the most frequent first. Clicks without a
// value are left out.
type dimensionsRecord struct {
	Hash     string        `json:"hash"`
	Referrer []valueRecord `json:"referrer"`
	Country  []valueRecord `json:"country"`
	Browser  []valueRecord `json:"browser"`
	OS       []valueRecord `json:"os"`
	Device   []valueRecord `json:"device"`
}

type valueRecord struct {
	Value  string `json:"value"` // "other": the sum of all values without an entry
	Clicks int64  `json:"clicks"`
}

// Dimensions returns the clicks on a URL by dimension: referrer, country, browser, system and
// device.
func (h *Handler) Dimensions(c *request.Context) (any, error) {
	dimensions, err := h.dimensionsOf(c)
	if err != nil {
		return nil, err
	}
	if err := h.Bound.Need(c, dimensions.Hash); err != nil {
		return nil, err
	}
	h.Waiter.AwaitClicks(c, catchup.Dimensions)
	values, err := h.Queries.Dimensions(c.Context(), dimensions)
	if err != nil {
		return nil, apierror.Unavailable(err)
	}
	counts := dimensionsRecord{
		Hash: dimensions.Hash, Referrer: []valueRecord{}, Country: []valueRecord{},
		Browser: []valueRecord{}, OS: []valueRecord{}, Device: []valueRecord{},
	}
	lists := map[string]*[]valueRecord{
		"referrer": &counts.Referrer, "country": &counts.Country, "browser": &counts.Browser,
		"os": &counts.OS, "device": &counts.Device,
	}
	for _, v := range values {
		if list, ok := lists[v.Dimension]; ok {
			*list = append(*list, valueRecord{v.Value, v.Clicks})
		}
	}
	return dimensionsResponse{Envelope: response.Succeeded(), Dimensions: counts}, nil
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
	page := selection.Page{Limit: h.Pages.Default}
	dimensions := queries.DimensionsOf{Account: c.Account.ID, Hash: hash}
	if err := errors.Join(
		decode.Number(query, "limit", &page.Limit), decode.Date(query, "from", &dimensions.From),
		decode.Date(query, "to", &dimensions.To),
	); err != nil {
		return queries.DimensionsOf{}, err
	}
	dimensions.Limit = min(page.Limit, h.Pages.Max)
	return dimensions, decode.Check(page, "")
}
