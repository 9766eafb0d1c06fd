// Package audit reads the history of links from the log, for auditors. It reads the streams that
// commands write, with the same rules of package domain, so that no read model can be behind or
// wrong about it. It writes nothing.
package audit

import (
	"context"
	"slices"
	"time"

	"linkledger/commands/domain"
	"linkledger/commands/hashes"
	"linkledger/commands/streams"
	"linkledger/events"
)

// AsOfQuery asks what a hash led to at a moment.
type AsOfQuery struct {
	Hash    string
	Time    time.Time // by the event store's clock, as of Entry
	Account string    // as of HistoryQuery
}

// AsOf is a link as it was at a moment.
type AsOf struct {
	Link   domain.Link
	Labels []string  // of its tags then
	Since  time.Time // when it became so
	Until  time.Time // when it changed again; zero: it has not
}

// LinkAsOf reads the link that lived under a hash at a moment, from its stream. It refuses with
// InvalidHash, and with URLNotFound where the hash led nowhere then; the details say where it had
// gone.
func (a *Reader) LinkAsOf(ctx context.Context, q AsOfQuery) (AsOf, error) {
	if !hashes.Valid(q.Hash) {
		return AsOf{}, domain.Refuse(
			domain.InvalidHash, "A hash is 1 to 25 of the characters A-Z a-z 0-9 _ -",
		)
	}
	claims, err := a.streams.Load(ctx, events.StreamHash+q.Hash)
	if err != nil {
		return AsOf{}, err
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
	// the last one that had come by then knows what became of the hash
	for _, link := range slices.Backward(links) {
		all, err := a.linkEvents(ctx, link, owners)
		if err != nil {
			return AsOf{}, err
		}
		moment, err := asOf(ctx, all, q.Time)
		if err != nil {
			return AsOf{}, err
		}
		switch {
		case moment.Link.Live() && moment.Link.Hash == q.Hash:
			return moment, nil
		case !hashes.Had(moment.Link, q.Hash):
			continue
		case moment.Link.Deleted && moment.Link.Hash == q.Hash:
			gone = domain.Refuse(
				domain.URLNotFound, "The URL with the hash %q had been deleted on %s", q.Hash,
				moment.Link.ModifiedAt.Format(time.RFC3339),
			)
		default:
			gone = domain.Refuse(
				domain.URLNotFound, "The URL had moved from the hash %q to %q", q.Hash,
				moment.Link.Hash,
			)
		}
		return AsOf{}, gone
	}
	return AsOf{}, gone
}

// asOf folds the events of a link and of its tags, in the order of the log, up to a moment.
func asOf(ctx context.Context, all []streams.RecordedEvent, at time.Time) (AsOf, error) {
	var moment AsOf
	fold, kept := newLinkFold(), true
	keep := func() {
		if !kept {
			moment.Link, moment.Labels, kept = fold.url.Clone(), fold.tagLabels(), true
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
			moment.Until = s.Time.UTC()
			break
		}
		if later {
			continue
		}
		if changed {
			moment.Since = s.Time.UTC()
		}
		kept = false
	}
	keep()
	return moment, nil
}
