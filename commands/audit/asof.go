// Package audit reads the history of links from the log. It reads the streams that commands write,
// with the rules of package domain, so no read model can make it late or wrong. It writes nothing.
package audit

import (
	"context"
	"slices"
	"time"

	"linkledger/commands/domain"
	"linkledger/commands/hashes"
	"linkledger/commands/streams"
	"linkledger/events"
	"linkledger/events/eventstore/eventlog"
)

// AsOfQuery asks which link had a hash at a time.
type AsOfQuery struct {
	Hash    string
	Time    time.Time // by the event store's clock, see Entry.Time
	Account string    // see HistoryQuery.Account
}

// AsOf is a link as it was at a time.
type AsOf struct {
	Link   domain.Link
	Labels []string  // of its tags at that time
	Since  time.Time // time of the last change up to then
	Until  time.Time // time of the first change after that; zero: none
}

// LinkAsOf returns the link that had a hash at a time, as its stream says. It refuses with
// InvalidHash, and with URLNotFound if no link had the hash then. If a link had it before, the
// error says when that link was deleted or to which hash it moved.
func (a *Reader) LinkAsOf(ctx context.Context, q AsOfQuery) (AsOf, error) {
	if !hashes.Valid(q.Hash) {
		return AsOf{}, domain.Refuse(
			domain.InvalidHash, "A hash is 1 to 25 of the characters A-Z a-z 0-9 _ -",
		)
	}
	claims, err := a.streams.Load(ctx, events.StreamHash+q.Hash)
	if err != nil && !eventlog.IsUndecoded(err) {
		return AsOf{}, err
	}
	if err != nil && (q.Account == "" || len(hashes.Claimants(claims.Events, q.Account)) > 0) {
		return AsOf{}, err // for the reason given in History
	}
	gone := domain.Refuse(domain.URLNotFound, "No URL had lived under the hash %q by then", q.Hash)
	owners := make(map[string]owner)
	var byThen []events.Event
	for i, r := range claims.Recorded {
		if !r.Time.After(q.Time) {
			byThen = append(byThen, claims.Events[i])
		}
	}
	links := hashes.LastClaimants(byThen, q.Account)
	// The last link that had the hash by then says what became of the hash.
	for _, link := range slices.Backward(links) {
		all, err := a.linkEvents(ctx, link, owners)
		if err != nil {
			return AsOf{}, err
		}
		state, err := asOf(ctx, all, q.Time)
		if err != nil {
			return AsOf{}, err
		}
		switch {
		case state.Link.Live() && state.Link.Hash == q.Hash:
			return state, nil
		case !hashes.Had(state.Link, q.Hash):
			continue
		case state.Link.Deleted && state.Link.Hash == q.Hash:
			gone = domain.Refuse(
				domain.URLNotFound, "The URL with the hash %q had been deleted on %s", q.Hash,
				state.Link.ModifiedAt.Format(time.RFC3339),
			)
		default:
			gone = domain.Refuse(
				domain.URLNotFound, "The URL had moved from the hash %q to %q", q.Hash,
				state.Link.Hash,
			)
		}
		return AsOf{}, gone
	}
	return AsOf{}, gone
}

// asOf folds the events of a link and of its tags, in log order, and returns the state at a time.
func asOf(ctx context.Context, all []streams.RecordedEvent, at time.Time) (AsOf, error) {
	var state AsOf
	fold, kept := newLinkFold(), true
	keep := func() {
		if !kept {
			state.Link, state.Labels, kept = fold.url.Clone(), fold.tagLabels(), true
		}
	}
	for _, s := range all {
		if err := ctx.Err(); err != nil {
			return AsOf{}, err
		}
		later := s.Time.After(at)
		if later {
			keep()
		}
		changed, _ := fold.next(s.Body, false)
		if later && changed {
			state.Until = s.Time.UTC()
			break
		}
		if later {
			continue
		}
		if changed {
			state.Since = s.Time.UTC()
		}
		kept = false
	}
	keep()
	return state, nil
}
