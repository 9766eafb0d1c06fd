package httpapi

import (
	"errors"

	"linkledger/queries"
)

// dimensionsAnswer answers calls about what clicks tell of their visitors.
type dimensionsAnswer struct {
	envelope
	Dimensions dimensionsRecord `json:"dimensions"`
}

// dimensionsRecord has the values of each dimension, the most frequent first. Clicks that tell none are left out.
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

// readDimensions counts the clicks on a URL by what they tell of their visitors.
func (h *statsHandler) readDimensions(c *exchange) (any, error) {
	of, err := h.dimensionsOf(c)
	if err != nil {
		return nil, err
	}
	h.Waiter.awaitClicks(c, projectionDimensions)
	values, err := h.Queries.Dimensions(c.context(), of)
	if err != nil {
		return nil, answered(err)
	}
	counts := dimensionsRecord{
		Hash: of.Hash, Referrer: []valueRecord{}, Country: []valueRecord{}, Browser: []valueRecord{}, OS: []valueRecord{},
		Device: []valueRecord{},
	}
	lists := map[string]*[]valueRecord{
		"referrer": &counts.Referrer, "country": &counts.Country, "browser": &counts.Browser, "os": &counts.OS,
		"device": &counts.Device,
	}
	for _, v := range values {
		if list, ok := lists[v.Dimension]; ok {
			*list = append(*list, valueRecord{v.Value, v.Clicks})
		}
	}
	return dimensionsAnswer{envelope: succeeded(), Dimensions: counts}, nil
}

func (h *statsHandler) dimensionsOf(c *exchange) (queries.DimensionsOf, error) {
	hash, err := pathHash(c)
	if err != nil {
		return queries.DimensionsOf{}, err
	}
	query, err := parameters(c)
	if err != nil {
		return queries.DimensionsOf{}, err
	}
	list := listing{Limit: h.Pages.Default}
	of := queries.DimensionsOf{Account: c.account.ID, Hash: hash}
	if err := errors.Join(number(query, "limit", &list.Limit), calendarDate(query, "from", &of.From), calendarDate(query, "to", &of.To)); err != nil {
		return queries.DimensionsOf{}, err
	}
	of.Limit = min(list.Limit, h.Pages.Max)
	return of, check(list, "")
}
