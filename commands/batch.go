package commands

import (
	"context"

	"golang.org/x/sync/errgroup"

	"linkledger/events"
)

// batchConcurrency is how many items of one batch are carried out at a time.
const batchConcurrency = 50

// carryOut carries out the items of a batch, concurrently, but those that share a key one after the other in their
// order: of two items that want the same hash the first one gets it. keys may return nil.
func carryOut(n int, keys func(i int) []string, do func(i int)) {
	var group errgroup.Group
	group.SetLimit(batchConcurrency)
	last := make(map[string]chan struct{}) // by key: closed when the last item so far that has it is done
	for i := range n {
		done := make(chan struct{})
		var before []chan struct{}
		for _, key := range keys(i) {
			if earlier, shared := last[key]; shared && earlier != done {
				before = append(before, earlier)
			}
			last[key] = done
		}
		group.Go(func() error {
			defer close(done)
			for _, earlier := range before { // they have been started, so this ends
				<-earlier
			}
			do(i)
			return nil
		})
	}
	_ = group.Wait() // the items keep their own errors
}

// eachURL carries out the same about several links.
func (h *Handler) eachURL(r Request, hashes []string, do func(r Request, hash string) (URLOutcome, error)) []URLOutcome {
	outcomes := make([]URLOutcome, len(hashes))
	carryOut(len(hashes), func(i int) []string { return hashes[i : i+1] }, func(i int) {
		outcome, err := retry(func() (URLOutcome, error) { return do(r.item(i), hashes[i]) })
		outcome.Err = err
		outcomes[i] = outcome
	})
	return outcomes
}

// changeURL appends what decide makes of a link. A hash that the link leaves by it is released.
func (h *Handler) changeURL(ctx context.Context, r Request, hash string, decide func(URL) ([]events.Event, error)) (URLOutcome, error) {
	url, loaded, err := h.urlByHash(ctx, r, hash)
	if err != nil {
		return URLOutcome{}, err
	}
	stream := events.StreamURL + url.ID
	if loaded.holds(r.Command, stream) {
		return URLOutcome{URL: url, Position: loaded.position()}, nil
	}
	changes, err := decide(url)
	if err != nil {
		return URLOutcome{}, err
	}
	appended, err := h.append(ctx, r, stream, loaded.revision(), changes...)
	if err != nil {
		return URLOutcome{}, err
	}
	for _, e := range changes {
		url.evolve(e)
	}
	if url.Deleted {
		h.releaseAfter(ctx, r, url.Hash, url.ID)
	}
	return URLOutcome{URL: url, Position: appended.Position}, nil
}
