package commands

import (
	"context"

	"linkledger/commands/batch"
	"linkledger/commands/domain"
	"linkledger/commands/streams"
	"linkledger/events"
	"linkledger/events/eventstore"
)

// Ref identifies a link of the account by its present hash or by its id.
type Ref struct {
	Hash string
	ID   string // if not empty, Hash is ignored
}

// ByHash returns a Ref for each hash.
func ByHash(hashes ...string) []Ref {
	refs := make([]Ref, len(hashes))
	for i, hash := range hashes {
		refs[i].Hash = hash
	}
	return refs
}

// key returns what items of one batch share if they are about the same link.
func (r Ref) key() string { return r.Hash + r.ID }

// eachURL calls do for each link, concurrently, and repeats it after lost conflicts.
func (h *Handler) eachURL(
	r domain.Request, refs []Ref, do func(r domain.Request, ref Ref) (URLOutcome, error),
) []URLOutcome {
	outcomes := make([]URLOutcome, len(refs))
	batch.Run(len(refs), func(i int) []string { return []string{refs[i].key()} }, func(i int) {
		outcome, err := eventstore.Retry(
			func() (URLOutcome, error) { return do(r.Item(i), refs[i]) },
		)
		outcome.Err = err
		outcomes[i] = outcome
	})
	return outcomes
}

// changeURL loads a link and appends the events that decide returns. A command that was carried
// out before appends nothing.
func (h *Handler) changeURL(
	ctx context.Context, r domain.Request, ref Ref,
	decide func(domain.Link) ([]events.Event, error),
) (URLOutcome, error) {
	url, loaded, err := h.find(ctx, r, ref)
	if err != nil {
		return URLOutcome{}, err
	}
	if loaded.Has(r.Command, events.StreamURL+url.ID) {
		return URLOutcome{URL: url, Position: loaded.Position()}, nil
	}
	changes, err := decide(url)
	if err != nil {
		return URLOutcome{}, err
	}
	return h.commit(ctx, r, url, loaded, changes)
}

// commit appends changes to the stream of a loaded link. If the link leaves its hash by them, the
// hash is released.
func (h *Handler) commit(
	ctx context.Context, r domain.Request, url domain.Link, loaded streams.History,
	changes []events.Event,
) (URLOutcome, error) {
	if len(changes) == 0 {
		return URLOutcome{URL: url, Position: loaded.Position()}, nil
	}
	appended, err := h.streams.Append(
		ctx, r, events.StreamURL+url.ID, loaded.Revision(), changes...,
	)
	if err != nil {
		return URLOutcome{}, err
	}
	before := url
	for _, e := range changes {
		url.Apply(e)
	}
	if before.Live() && (url.Deleted || url.Hash != before.Hash) {
		h.releaseAfter(ctx, r, before.Hash, url.ID)
	}
	return URLOutcome{URL: url, Position: appended.Position, Changed: true}, nil
}
