package commands

import (
	"linkledger/commands/batch"
	"linkledger/commands/domain"
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
