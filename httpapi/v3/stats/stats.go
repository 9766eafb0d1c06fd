// Package stats handles calls about the past of URLs: clicks by day and by dimension, and the
// history.
package stats

import (
	"linkledger/commands"
	"linkledger/commands/audit"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/v3/bulk"
	"linkledger/httpapi/v3/catchup"
	"linkledger/httpapi/v3/selection"
	"linkledger/queries"
)

// Handler handles calls about clicks and history of URLs.
type Handler struct {
	Commands *commands.Handler
	Audit    *audit.Reader
	Queries  *queries.DB
	Changes  *bulk.Changes
	Waiter   *catchup.Waiter
	Bound    selection.Bound
	Pages    selection.PageSizes
}

// Read returns the clicks on a URL by day.
func (h *Handler) Read(c *request.Context) (any, error) {
	hash, err := selection.PathHash(c)
	if err != nil {
		return nil, err
	}
	if err := h.Bound.Need(c, hash); err != nil {
		return nil, err
	}
	h.Waiter.AwaitClicks(c, catchup.Links)
	stats, err := h.Queries.StatsByHash(c.Context(), c.Account.ID, hash)
	if err != nil {
		return nil, apierror.Unavailable(err)
	}
	r := contract.Stats{
		Hash: stats.Hash, TotalClicks: stats.TotalClicks, UniqueClicks: stats.UniqueClicks,
		DailyClicks: make(map[string]contract.Day, len(stats.Daily)),
	}
	for _, day := range stats.Daily {
		r.DailyClicks[day.Date] = contract.Day{Total: day.Total, Unique: day.Unique}
	}
	return contract.StatsAnswer{Envelope: response.Succeeded(), Stats: []contract.Stats{r}}, nil
}

// ResetOne resets the clicks of the URL that the path names to zero.
func (h *Handler) ResetOne(c *request.Context) (any, error) {
	return h.Changes.One(c, h.Commands.ResetStats)
}

// Reset resets the clicks of the URLs that the parameters select to zero.
func (h *Handler) Reset(c *request.Context) (any, error) {
	return h.Changes.All(c, h.Commands.ResetStats)
}
