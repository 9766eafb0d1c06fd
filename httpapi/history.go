package httpapi

import (
	"github.com/google/uuid"

	"linkledger/commands"
)

// maxHistoryLinks bounds how many links that lived under one hash are followed for one call.
const maxHistoryLinks = 100

// historyAnswer answers calls about the history of a hash.
type historyAnswer struct {
	envelope
	History historyRecord `json:"history"`
	Page    page          `json:"page"` // of the events
}

type historyRecord struct {
	commands.HashHistory

	Links []lifeRecord `json:"links"`
}

// lifeRecord is the outline of one link.
type lifeRecord struct {
	commands.LinkLife

	DailyClicks map[string]dayRecord `json:"daily_clicks"` // since the last reset
}

// readHistory answers with a page of what happened to a hash and to the account's links that ever lived under it.
func (h *statsHandler) readHistory(c *exchange) (any, error) {
	hash, err := pathHash(c)
	if err != nil {
		return nil, err
	}
	query, err := parameters(c)
	if err != nil {
		return nil, err
	}
	list, err := h.Pages.page(query)
	if err != nil {
		return nil, err
	}
	history, err := h.Commands.History(c.context(), commands.HistoryOf{
		Hash: hash, Account: c.account.ID.String(), MaxLinks: maxHistoryLinks, Offset: list.Offset, Limit: list.Limit,
	})
	if err != nil {
		return nil, err
	}
	lives, err := h.lives(c, history.Links)
	if err != nil {
		return nil, err
	}
	return historyAnswer{
		envelope: succeeded(), History: historyRecord{HashHistory: history, Links: lives},
		Page: page{ResultsCount: len(history.Entries), TotalCount: int64(history.Total), Offset: list.Offset},
	}, nil
}

// lives returns the outlines of links with their clicks.
func (h *statsHandler) lives(c *exchange, links []commands.LinkLife) ([]lifeRecord, error) {
	ids := make([]uuid.UUID, len(links))
	for i, link := range links {
		var err error
		if ids[i], err = uuid.Parse(link.ID); err != nil {
			return nil, err
		}
	}
	if len(ids) > 0 {
		h.Waiter.awaitClicks(c, projectionLinks)
	}
	clicks, err := h.Queries.DailyClicks(c.context(), ids)
	if err != nil {
		return nil, answered(err)
	}
	lives := make([]lifeRecord, len(links))
	for i, link := range links {
		lives[i] = lifeRecord{LinkLife: link, DailyClicks: make(map[string]dayRecord)}
		for _, day := range clicks[ids[i]] {
			lives[i].DailyClicks[day.Date] = dayRecord{Total: day.Total, Unique: day.Unique}
		}
	}
	return lives, nil
}
