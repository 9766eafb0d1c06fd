package commands

import (
	"context"

	"linkledger/commands/batch"
	"linkledger/commands/domain"
	"linkledger/commands/streams"
	"linkledger/events"
	"linkledger/events/eventstore"
)

// Ref names a link of the account: by the hash that it lives under, or by its id.
type Ref struct {
	Hash string
	ID   string // counts where it is given
}

// ByHash names links by their hashes.
func ByHash(hashes ...string) []Ref {
	refs := make([]Ref, len(hashes))
	for i, hash := range hashes {
		refs[i].Hash = hash
	}
	return refs
}

// key is what items of one batch about the same link share.
func (r Ref) key() string { return r.Hash + r.ID }

// eachURL carries out the same about several links.
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

// changeURL appends what decide makes of a link.
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

// commit appends the changes of a link that was loaded. A hash that the link leaves by them is
// released.
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
