package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/mod/sumdb/tlog"

	"linkledger/events/eventstore"
	"linkledger/events/proof"
	"linkledger/projections"
	"linkledger/projections/readmodel"
	"linkledger/queries/logtree"
)

// auditKey makes a key that signs heads.
type auditKey struct {
	File string `arg:"" help:"File to write the private key to. It must not exist."`
	Name string `help:"Name of the key, which appears in heads, such as the host of the short links." default:"linkledger"`
}

// Run implements the command.
func (c *auditKey) Run(p *process) error {
	private, public, err := proof.NewKey(c.Name)
	if err != nil {
		return usageError{err}
	}
	file, err := os.OpenFile(c.File, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return usage("%s exists: a key that has signed heads is kept as long as these", c.File)
	}
	if err != nil {
		return usageError{err}
	}
	_, err = fmt.Fprintln(file, private)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintln(p.stdout, public)
	return err
}

// signing is the key that signs heads.
type signing struct {
	SigningKey secret `help:"Private key that signs heads, from audit key. Give it as a file, by LINKLEDGER_SIGNING_KEY_FILE." placeholder:"KEY"`
}

// head signs the head of the log, when the tree has all that is in the log now.
func (s *signing) head(ctx context.Context, db *readmodel.DB, store *eventstore.Store) (proof.Head, error) {
	if s.SigningKey == "" {
		return proof.Head{}, usage("there is no key to sign with: make one with linkledger audit key FILE, and name the file with %s_FILE", envName("signing-key"))
	}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	end, err := store.Head(ctx)
	if err != nil {
		return proof.Head{}, err
	}
	if err := projections.Await(ctx, db, store, projections.Tree, end); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return proof.Head{}, usage("the tree does not have the whole log yet: %w: projections status tells how far it is", err)
		}
		return proof.Head{}, err
	}
	q := logtree.New(db)
	tree, err := q.Tree(ctx)
	if err != nil {
		return proof.Head{}, err
	}
	root, err := tlog.TreeHash(tree.Size, q.Hashes(ctx))
	if err != nil {
		return proof.Head{}, err
	}
	head, err := proof.Sign(tlog.Tree{N: tree.Size, Hash: root}, string(s.SigningKey))
	if errors.Is(err, proof.ErrNoKey) {
		return proof.Head{}, usage("%w: give what linkledger audit key has written to its file", err)
	}
	if err != nil {
		return proof.Head{}, usageError{err}
	}
	return head, nil
}

// auditCheckpoint prints the signed head of the log.
type auditCheckpoint struct {
	place
	signing
}

// Run implements the command.
func (c *auditCheckpoint) Run(ctx context.Context, p *process) error {
	return c.operate(ctx, p, func(ctx context.Context, db *readmodel.DB, store *eventstore.Store) error {
		head, err := c.head(ctx, db, store)
		if err == nil {
			_, err = fmt.Fprintln(p.stdout, head.Signed)
		}
		return err
	})
}

// trusted is the key that heads are believed by.
type trusted struct {
	PublicKey string `help:"Public key of the heads, as audit key prints it." placeholder:"KEY"`
}

// heads reads the heads of files.
func (t *trusted) heads(files []string) ([]proof.Head, error) {
	var heads []proof.Head
	for _, name := range files {
		if t.PublicKey == "" {
			return nil, usage("heads are believed by their key: give it with --public-key (%s)", envName("public-key"))
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, usageError{err}
		}
		read, err := proof.Heads(text, t.PublicKey)
		if errors.Is(err, proof.ErrNoKey) {
			return nil, usage("%w: give the one that linkledger audit key has printed", err)
		}
		if err != nil {
			return nil, usage("%s: %w", name, err)
		}
		heads = append(heads, read...)
	}
	return heads, nil
}
