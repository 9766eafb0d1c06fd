package proofs

import (
	"context"
	"errors"
	"fmt"
	"io"

	"linkledger/commands/audit"
	"linkledger/events/archive"
	"linkledger/events/eventstore"
	"linkledger/events/proof"
)

// Config of a Prover. All fields are required.
type Config struct {
	Tree  Tree
	Audit *audit.Reader
	Store *eventstore.Store
	Key   string // private key that signs heads of the log
}

// Prover proves to an account which events of its links the log has. It is safe for concurrent use.
type Prover struct {
	cfg    Config
	public string // verifies the heads
}

// New returns a Prover. It returns proof.ErrNoKey if the key is no signing key.
func New(cfg Config) (*Prover, error) {
	public, err := proof.PublicKey(cfg.Key)
	if err != nil {
		return nil, err
	}
	return &Prover{cfg, public}, nil
}

// PublicKey returns the public key that verifies the heads.
func (p *Prover) PublicKey() string { return p.public }

// Head is a signed head of the log: the size and the root hash of its Merkle tree.
type Head = proof.Head

// Head returns the signed head of the log, as far as the tree has it.
func (p *Prover) Head(ctx context.Context) (Head, error) { return Sign(ctx, p.cfg.Tree, p.cfg.Key) }

// Selection is the events to prove: a page of a history.
type Selection struct {
	// LeftOut counts the events of the page that other accounts or operators have caused. The
	// account that asks sees that they happened, but not the events themselves.
	LeftOut int
	Total   int // entries of the whole history

	recorded []eventstore.Recorded
}

// Count returns how many events are selected.
func (s Selection) Count() int { return len(s.recorded) }

// Last returns the commit position of the last event, or 0 if there is none.
func (s Selection) Last() uint64 {
	if len(s.recorded) == 0 {
		return 0
	}
	return s.recorded[len(s.recorded)-1].Position.Commit
}

// Select reads the events of a page of a history that the account of the query has caused. It
// refuses what audit.Reader.History refuses.
func (p *Prover) Select(ctx context.Context, of audit.HistoryQuery) (Selection, error) {
	history, err := p.cfg.Audit.History(ctx, of)
	if err != nil {
		return Selection{}, err
	}
	selected := Selection{Total: history.Total}
	var own []audit.Entry
	for _, entry := range history.Entries {
		if entry.Actor.Account == of.Account {
			own = append(own, entry)
		} else {
			selected.LeftOut++
		}
	}
	selected.recorded, err = Recorded(ctx, own, p.cfg.Store.Load)
	return selected, err
}

// ErrLags means that the stored tree does not have all events of a selection yet.
var ErrLags = errors.New("the tree of the log does not have the events yet")

// Write writes a file of proofs of a selection and returns the head that it rests on. It fails with
// ErrLags if the head does not have all events of the selection.
func (p *Prover) Write(ctx context.Context, to io.Writer, s Selection) (Head, error) {
	head, err := p.Head(ctx)
	if err != nil {
		return head, err
	}
	later, err := Write(ctx, to, p.cfg.Tree, head, nil, s.recorded)
	if err == nil && later > 0 {
		err = fmt.Errorf("%w: %d are missing", ErrLags, later)
	}
	return head, err
}

// Checked is the result of a check.
type Checked struct {
	proof.Proven

	// InLog reports that the log still begins with the events that the head of the file commits to.
	InLog bool
}

// Check checks a file of proofs. It returns proof.ErrUnproven or proof.ErrUnsigned if the file
// proves nothing.
func (p *Prover) Check(ctx context.Context, file io.Reader) (Checked, error) {
	proven, err := proof.Check(file, p.public)
	if err != nil {
		return Checked{}, err
	}
	found := Checked{Proven: proven}
	found.InLog, err = begins(ctx, p.cfg.Tree, proven.Head)
	return found, err
}

// IsUnproven reports whether the error of a check means that the file proves nothing.
func IsUnproven(err error) bool {
	for _, unproven := range []error{
		proof.ErrUnproven, proof.ErrUnsigned, archive.ErrDamaged, archive.ErrIncomplete,
	} {
		if errors.Is(err, unproven) {
			return true
		}
	}
	return false
}
