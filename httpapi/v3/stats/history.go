package stats

import (
	"github.com/google/uuid"

	"linkledger/commands/access"
	"linkledger/commands/audit"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/v3/catchup"
	"linkledger/httpapi/v3/selection"
)

// historyResponse is the response of calls about the history of a hash.
type historyResponse struct {
	response.Envelope
	History historyRecord `json:"history"`
	Page    response.Page `json:"page"` // the page of events
}

type historyRecord struct {
	audit.History

	Links []linkRecord `json:"links"`
}

// linkRecord is a summary of one link.
type linkRecord struct {
	audit.LinkLife

	// DailyClicks are those since the last reset; nil: the caller lacks stats:read.
	DailyClicks map[string]dayRecord `json:"daily_clicks,omitzero"`
}

// History returns a page of the events of a hash and of the account's links that ever had it.
func (h *Handler) History(c *request.Context) (any, error) {
	asked, err := selection.History(c, h.Pages)
	if err != nil {
		return nil, err
	}
	history, err := h.Audit.History(c.Context(), asked)
	if err != nil {
		return nil, err
	}
	lives, err := h.linkRecords(c, history.Links)
	if err != nil {
		return nil, err
	}
	return historyResponse{
		Envelope: response.Succeeded(), History: historyRecord{History: history, Links: lives},
		Page: response.Page{
			ResultsCount: len(history.Entries), TotalCount: int64(history.Total),
			Offset: asked.Offset,
		},
	}, nil
}

// linkRecords returns the summaries of links, with their clicks if the caller may see them.
func (h *Handler) linkRecords(c *request.Context, links []audit.LinkLife) ([]linkRecord, error) {
	lives := make([]linkRecord, len(links))
	for i, link := range links {
		lives[i].LinkLife = link
	}
	if !c.Scopes().Have(access.StatsRead) {
		return lives, nil
	}
	ids := make([]uuid.UUID, len(links))
	for i, link := range links {
		var err error
		if ids[i], err = uuid.Parse(link.ID); err != nil {
			return nil, err
		}
	}
	if len(ids) > 0 {
		h.Waiter.AwaitClicks(c, catchup.Links)
	}
	clicks, err := h.Queries.DailyClicks(c.Context(), ids)
	if err != nil {
		return nil, apierror.Unavailable(err)
	}
	for i := range lives {
		lives[i].DailyClicks = make(map[string]dayRecord)
		for _, day := range clicks[ids[i]] {
			lives[i].DailyClicks[day.Date] = dayRecord{Total: day.Total, Unique: day.Unique}
		}
	}
	return lives, nil
}
