package httpapi

import (
	"errors"

	"github.com/google/uuid"

	"linkledger/commands/audit"
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
	audit.History

	Links []lifeRecord `json:"links"`
}

// lifeRecord is the outline of one link.
type lifeRecord struct {
	audit.LinkLife

	DailyClicks map[string]dayRecord `json:"daily_clicks"` // since the last reset
}

// readHistory answers with a page of what happened to a hash and to the account's links that ever lived under it.
func (s *server) readHistory(e *exchange) (any, error) {
	hash, err := pathHash(e)
	if err != nil {
		return nil, err
	}
	list, err := s.historyPage(e)
	if err != nil {
		return nil, err
	}
	history, err := s.cfg.Histories.History(e.context(), audit.HistoryQuery{
		Hash: hash, Account: e.account.ID.String(), MaxLinks: maxHistoryLinks, Offset: list.Offset, Limit: list.Limit,
	})
	if err != nil {
		return nil, err
	}
	lives, err := s.lives(e, history.Links)
	if err != nil {
		return nil, err
	}
	return historyAnswer{
		envelope: succeeded(), History: historyRecord{History: history, Links: lives},
		Page: page{ResultsCount: len(history.Entries), TotalCount: int64(history.Total), Offset: list.Offset},
	}, nil
}

// historyPage returns which events of a history are wanted.
func (s *server) historyPage(e *exchange) (listing, error) {
	query, err := parameters(e)
	if err != nil {
		return listing{}, err
	}
	list := listing{Limit: s.cfg.PageSize}
	if err := errors.Join(number(query, "offset", &list.Offset), number(query, "limit", &list.Limit)); err != nil {
		return listing{}, err
	}
	if err := check(list, ""); err != nil {
		return listing{}, err
	}
	list.Limit = min(list.Limit, s.cfg.MaxPageSize)
	return list, nil
}

// lives returns the outlines of links with their clicks.
func (s *server) lives(e *exchange, links []audit.LinkLife) ([]lifeRecord, error) {
	ids := make([]uuid.UUID, len(links))
	for i, link := range links {
		var err error
		if ids[i], err = uuid.Parse(link.ID); err != nil {
			return nil, err
		}
	}
	if len(ids) > 0 {
		s.awaitClicks(e, projectionLinks)
	}
	clicks, err := s.cfg.Queries.DailyClicks(e.context(), ids)
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
