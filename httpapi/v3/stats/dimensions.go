package stats

import (
	"errors"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/decode"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/v3/catchup"
	"linkledger/httpapi/v3/selection"
	"linkledger/queries"
)

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
	counts := contract.Dimensions{
		Hash: dimensions.Hash, Referrer: []contract.DimensionValue{},
		Country: []contract.DimensionValue{}, Browser: []contract.DimensionValue{},
		OS: []contract.DimensionValue{}, Device: []contract.DimensionValue{},
	}
	lists := map[string]*[]contract.DimensionValue{
		"referrer": &counts.Referrer, "country": &counts.Country, "browser": &counts.Browser,
		"os": &counts.OS, "device": &counts.Device,
	}
	for _, v := range values {
		if list, ok := lists[v.Dimension]; ok {
			*list = append(*list, contract.DimensionValue{Value: v.Value, Clicks: v.Clicks})
		}
	}
	return contract.DimensionsAnswer{Envelope: response.Succeeded(), Dimensions: counts}, nil
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
