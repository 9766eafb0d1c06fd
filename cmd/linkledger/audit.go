package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"linkledger/commands"
	"linkledger/commands/accounts"
	"linkledger/commands/domain"
	"linkledger/events/eventstore"
)

// auditCommand reads the log for auditors, and changes links back to what they were.
type auditCommand struct {
	History auditHistory `cmd:"" help:"Show everything that happened to a hash and to the links that ever used it."`
	At      auditAt      `cmd:"" help:"Show where a hash led at a time, and the settings of its link."`
	Export  auditExport  `cmd:"" help:"Write the stored events to a file that ends with a manifest."`

	Key         auditKey         `cmd:"" help:"Make a key that signs heads of the log, and print its public half."`
	Checkpoint  auditCheckpoint  `cmd:"" help:"Print the signed head of the log. Keep it elsewhere."`
	Prove       auditProve       `cmd:"" help:"Print a proof of each event of a link, and a proof that the log continues older heads."`
	VerifyProof auditVerifyProof `cmd:"" help:"Verify a file of proofs with the public key. No installation is needed."`
	Verify      auditVerify      `cmd:"" help:"Read the whole log and report the first event that differs from the tree and the signed heads."`

	Restore auditRestore `cmd:"" help:"Undo the deletion of a link, or return a link to an earlier version."`
	Undo    auditUndo    `cmd:"" help:"Undo all that one API call changed, except links that were changed since."`

	ImportCheck auditImportCheck `cmd:"" help:"Check an exported file against its manifest. No installation is needed."`
}

// auditing runs a command on the event store of the installation.
func (l *place) auditing(ctx context.Context, p *process, command func(context.Context, *eventstore.Store) error) error {
	if l.EventStore == "" {
		if err := l.locate(); err != nil {
			return err
		}
	}
	store, err := eventstore.Open(eventstore.Config{URL: string(l.EventStore), Logger: p.logger})
	if err != nil {
		return usageError{err}
	}
	defer store.Close()
	probe, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	if _, err := store.Head(probe); err != nil { // later on, an outage is waited out
		return explained(err, l)
	}
	err = command(ctx, store)
	if _, refused := errors.AsType[*domain.Error](err); refused {
		return usageError{err}
	}
	if errors.Is(err, commands.ErrCut) {
		return fmt.Errorf("%w: linkledger audit verify lists what is cut, linkledger audit export has what the log still has", err)
	}
	return explainedKey(err)
}

// accountNamed returns the id of an account that is given by its id or its user name; nothing for nothing.
func accountNamed(ctx context.Context, accounts *accounts.Accounts, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	if id, err := uuid.Parse(name); err == nil {
		return id.String(), nil
	}
	return accounts.ID(ctx, name)
}
