package commands

import (
	"context"
	"slices"
	"time"

	"linkledger/commands/domain"
	"linkledger/events"
)

// AtQuery asks what a hash led to at a moment.
type AtQuery struct {
	Hash    string
	Time    time.Time // by the event store's clock, as of HistoryEntry
	Account string    // as of HistoryOf
}

// URLMoment is a link as it was at a moment.
type URLMoment struct {
	URL    domain.Link
	Labels []string  // of its tags then
	Since  time.Time // when it became so
	Until  time.Time // when it changed again; zero: it has not
}

// URLAt reads the link that lived under a hash at a moment, from its stream. It refuses with InvalidHash, and with
// URLNotFound where the hash led nowhere then; the details say where it had gone.
func (h *Handler) URLAt(ctx context.Context, q AtQuery) (URLMoment, error) {
	if !ValidHash(q.Hash) {
		return URLMoment{}, domain.Refuse(domain.InvalidHash, "A hash is 1 to 25 of the characters A-Z a-z 0-9 _ -")
	}
	claims, err := h.load(ctx, events.StreamHash+q.Hash)
	if err != nil {
		return URLMoment{}, err
	}
	gone := domain.Refuse(domain.URLNotFound, "No URL had lived under the hash %q by then", q.Hash)
	owners := make(map[string]owner)
	byThen := slices.DeleteFunc(claims.stored(), func(s stored) bool { return s.Time.After(q.Time) })
	links := lastClaimants(byThen, q.Account)
	for _, link := range slices.Backward(links) { // the last one that had come by then knows what became of the hash
		all, err := h.streamsOf(ctx, link, owners)
		if err != nil {
			return URLMoment{}, err
		}
		moment, err := momentOf(ctx, all, q.Time)
		if err != nil {
			return URLMoment{}, err
		}
		switch {
		case moment.URL.Live() && moment.URL.Hash == q.Hash:
			return moment, nil
		case !hadHash(moment.URL, q.Hash):
			continue
		case moment.URL.Deleted && moment.URL.Hash == q.Hash:
			gone = domain.Refuse(domain.URLNotFound, "The URL with the hash %q had been deleted on %s", q.Hash, moment.URL.ModifiedAt.Format(time.RFC3339))
		default:
			gone = domain.Refuse(domain.URLNotFound, "The URL had moved from the hash %q to %q", q.Hash, moment.URL.Hash)
		}
		return URLMoment{}, gone
	}
	return URLMoment{}, gone
}

// momentOf folds the events of a link and of its tags, in the order of the log, up to a moment.
func momentOf(ctx context.Context, all []stored, at time.Time) (URLMoment, error) {
	var moment URLMoment
	fold, kept := newLinkFold(), true
	keep := func() {
		if !kept {
			moment.URL, moment.Labels, kept = fold.url.Clone(), fold.tagLabels(), true
		}
	}
	for _, s := range all {
		if err := ctx.Err(); err != nil {
			return URLMoment{}, err
		}
		later := s.Time.After(at)
		if later {
			keep()
		}
		changed, _ := fold.next(s.event, false)
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
