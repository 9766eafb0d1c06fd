package linkwrite

// Which link a command is about, and the outcome of the command.

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

// Key returns what items of one batch share if they are about the same link.
func (r Ref) Key() string { return r.Hash + r.ID }

// Outcome is a link after a command, or the error.
type Outcome struct {
	URL      domain.Link
	Labels   []string // of the link's tags; nil: not looked up
	Position eventstore.Position
	// Changed reports whether this call changed the link. It is false if the link already was as
	// asked for, also by the call that this one repeats.
	Changed bool
	Err     error // a *domain.Error if the command was refused
}

// Each calls do for each link, concurrently, and repeats it after lost conflicts.
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
