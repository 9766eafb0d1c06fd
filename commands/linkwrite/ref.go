package linkwrite

// This file has the reference to the link of a command, and the outcome of the command.

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

// Key returns the key of the link for batch.Run.
func (r Ref) Key() string { return r.Hash + r.ID }

// Outcome is a link after a command, or the error.
type Outcome struct {
	URL      domain.Link
	Labels   []string // of the link's tags; nil: not looked up
	Position eventstore.Position
	// Changed is true if this call changed the link. It is false if the link already was as
	// requested, for example because this call is a repeat.
	Changed bool
	Err     error // a *domain.Error if the command was refused
}

// Each calls do for each link, concurrently. If another writer was faster, it calls do again.
func Each(
	r domain.Request, refs []Ref, do func(r domain.Request, ref Ref) (Outcome, error),
) []Outcome {
	outcomes := make([]Outcome, len(refs))
	batch.Run(len(refs), func(i int) []string { return []string{refs[i].Key()} }, func(i int) {
		outcome, err := eventstore.Retry(
			func() (Outcome, error) { return do(r.Item(i), refs[i]) },
		)
		outcome.Err = err
		outcomes[i] = outcome
	})
	return outcomes
}
