package attestation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/mod/sumdb/tlog"

	"linkledger/events/eventstore"
	"linkledger/events/proof"
	"linkledger/internal/installation"
	"linkledger/internal/secret"
	"linkledger/internal/usage"
	"linkledger/projections"
	"linkledger/projections/readmodel"
	"linkledger/queries/logtree"
)

// NewKey writes a new key that signs heads to a file, and prints its public half.
func NewKey(name, of string, stdout io.Writer) error {
	private, public, err := proof.NewKey(of)
	if err != nil {
		return usage.Wrap(err)
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return usage.Errorf("%s exists: a key that has signed heads is kept as long as these", name)
	}
	if err != nil {
		return usage.Wrap(err)
	}
	_, err = fmt.Fprintln(file, private)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, public)
	return err
}

// Checkpoint prints the signed head of the log.
func Checkpoint(ctx context.Context, o installation.Operator, key secret.Text) error {
	return o.Operate(ctx, func(
		ctx context.Context, db *readmodel.DB, store *eventstore.Store,
	) error {
		head, err := signHead(ctx, db, store, key)
		if err == nil {
			_, err = fmt.Fprintln(o.Stdout, head.Signed)
		}
		return err
	})
}

// signHead signs the head of the log, when the tree has all that is in the log now.
func signHead(
	ctx context.Context, db *readmodel.DB, store *eventstore.Store, key secret.Text,
) (proof.Head, error) {
	if key == "" {
		return proof.Head{}, usage.Errorf(
			"there is no key to sign with: make one with linkledger audit key FILE, and name the "+
				"file with %s_FILE",
			usage.Env("signing-key"),
		)
	}
	ctx, cancel := context.WithTimeout(ctx, installation.Timeout)
	defer cancel()
	end, err := store.Head(ctx)
	if err != nil {
		return proof.Head{}, err
	}
	if err := projections.Await(ctx, db, store, projections.Tree, end); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return proof.Head{}, usage.Errorf(
				"the tree does not have the whole log yet: %w: projections status tells how far "+
					"it is",
				err,
			)
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
	head, err := proof.Sign(tlog.Tree{N: tree.Size, Hash: root}, string(key))
	if errors.Is(err, proof.ErrNoKey) {
		return proof.Head{}, usage.Errorf(
			"%w: give what linkledger audit key has written to its file", err,
		)
	}
	if err != nil {
		return proof.Head{}, usage.Wrap(err)
	}
	return head, nil
}

// readHeads reads the heads of files, which are believed by a key.
func readHeads(files []string, publicKey string) ([]proof.Head, error) {
	var heads []proof.Head
	for _, name := range files {
		if publicKey == "" {
			return nil, usage.Errorf(
				"heads are believed by their key: give it with --public-key (%s)",
				usage.Env("public-key"),
			)
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, usage.Wrap(err)
		}
		read, err := proof.Heads(text, publicKey)
		if errors.Is(err, proof.ErrNoKey) {
			return nil, usage.Errorf("%w: give the one that linkledger audit key has printed", err)
		}
		if err != nil {
			return nil, usage.Errorf("%s: %w", name, err)
		}
		heads = append(heads, read...)
	}
	return heads, nil
}
