package stats

import (
	"cmp"

	"github.com/google/uuid"

	"linkledger/commands/access"
	"linkledger/commands/audit"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/v3/catchup"
	"linkledger/httpapi/v3/selection"
)

// History returns a page of the events of a hash and of the account's links that ever had it.
func (h *Handler) History(c *request.Context) (any, error) {
	asked, err := selection.History(c, h.Pages)
	if err != nil {
		return nil, err
	}
	if asked.NewestFirst, err = selection.NewestFirst(c); err != nil {
		return nil, err
	}
	history, err := h.Audit.History(c.Context(), asked)
	if err != nil {
		return nil, err
	}
	lives, err := h.lives(c, history.Links)
	if err != nil {
		return nil, err
	}
	events, err := eventsOf(history.Entries)
	if err != nil {
		return nil, err
	}
	return contract.HistoryAnswer{
		Envelope: response.Succeeded(),
		History: contract.History{
			Hash: history.Hash, MoreLinks: history.MoreLinks, Events: events, Links: lives,
		},
		Page: contract.Page{
			ResultsCount: len(events), TotalCount: int64(history.Total), Offset: asked.Offset,
		},
	}, nil
}

// eventsOf returns the events of a history.
func eventsOf(entries []audit.Entry) ([]contract.HistoryEvent, error) {
	events := make([]contract.HistoryEvent, len(entries))
	for i, e := range entries {
		events[i] = contract.HistoryEvent{
			Position: e.Commit, Stream: e.Stream, Revision: int64(e.Revision), ID: e.ID.String(),
			Type: e.Type, Time: e.Time, Link: e.Link, Request: e.Request, Batch: e.Batch,
			Actor: contract.Actor{
				Kind: string(e.Actor.Kind), Account: e.Actor.Account, Key: e.Actor.Key,
				KeyName: e.Actor.KeyName, User: e.Actor.User, UserName: e.Actor.UserName,
				Via: e.Actor.Via, Address: e.Actor.Address,
			},
			Changes: make([]contract.FieldChange, len(e.Changes)),
		}
		for j, change := range e.Changes {
			before, err := response.Raw(change.Before)
			after, afterErr := response.Raw(change.After)
			if err := cmp.Or(err, afterErr); err != nil {
				return nil, err
			}
			events[i].Changes[j] = contract.FieldChange{
				Field: change.Field, Before: before, After: after, Erased: change.Erased,
			}
		}
	}
	return events, nil
}

// lives returns when each link was created and deleted, which hashes it had, and its clicks by day
// if the caller may see clicks.
func (h *Handler) lives(c *request.Context, links []audit.LinkLife) ([]contract.LinkLife, error) {
	lives := make([]contract.LinkLife, len(links))
	for i, link := range links {
		lives[i] = contract.LinkLife{
			ID: link.ID, Account: link.Account,
			CreatedAt: link.CreatedAt, DeletedAt: link.DeletedAt,
		}
		for _, tenure := range link.Tenures {
			lives[i].Hashes = append(lives[i].Hashes, contract.Tenure(tenure))
		}
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
		lives[i].DailyClicks = make(map[string]contract.Day)
		for _, day := range clicks[ids[i]] {
			lives[i].DailyClicks[day.Date] = contract.Day{Total: day.Total, Unique: day.Unique}
		}
	}
	return lives, nil
}
