package attestation

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"linkledger/commands/proofs"
	"linkledger/events/eventstore"
	"linkledger/events/proof"
	"linkledger/internal/console"
	"linkledger/internal/installation"
	"linkledger/internal/secret"
	"linkledger/internal/usage"
	"linkledger/projections"
	"linkledger/projections/readmodel"
	"linkledger/queries/logtree"
)

// NewKey writes a new signing key with a name to a file, which MUST NOT exist, and prints its
// public half.
func NewKey(path, name string, stdout io.Writer) error {
	private, public, err := proof.NewKey(name)
	if err != nil {
		return usage.Wrap(err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return usage.Errorf("%s exists: keep a key as long as the heads that it signed", path)
	}
	if err != nil {
		return usage.Wrap(err)
	}
	_, err = io.WriteString(file, private+"\n")
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return console.Printf(stdout, "%s\n", public)
}

// Checkpoint prints the signed head of the log.
func Checkpoint(ctx context.Context, o installation.Operator, key secret.Text) error {
	return o.Operate(ctx, func(
		ctx context.Context, db *readmodel.DB, store *eventstore.Store,
	) error {
		head, err := signHead(ctx, db, store, key)
		if err == nil {
			_, err = io.WriteString(console.Exact(o.Stdout), head.Signed+"\n")
		}
		return err
	})
}

// signHead waits until the tree has all events that are in the log now, and signs its head.
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
				"the tree does not have the whole log yet (linkledger projections status shows "+
					"its progress): %w",
				err,
			)
		}
		return proof.Head{}, err
	}
	head, err := proofs.Sign(ctx, logtree.New(db), string(key))
	if errors.Is(err, proof.ErrNoKey) {
		return proof.Head{}, usage.Errorf(
			"%w: give what linkledger audit key wrote to its file", err,
		)
	}
	if err != nil {
		return proof.Head{}, usage.Wrap(err)
	}
	return head, nil
}

// readHeads reads the heads in files and verifies them with the public key. written has, by the
// size of a head, when the oldest file with that head was written.
func readHeads(files []string, publicKey string) (
	heads []proof.Head, written map[int64]time.Time, err error,
) {
	written = make(map[int64]time.Time)
	for _, name := range files {
		if publicKey == "" {
			return nil, nil, usage.Errorf(
				"heads are verified with their key: give it with --public-key (%s)",
				usage.Env("public-key"),
			)
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, nil, usage.Wrap(err)
		}
		read, err := proof.Heads(text, publicKey)
		if errors.Is(err, proof.ErrNoKey) {
			return nil, nil, usage.Errorf("%w: give the one that linkledger audit key printed", err)
		}
		if err != nil {
			return nil, nil, usage.Errorf("%s: %w", name, err)
		}
		info, err := os.Stat(name)
		if err != nil {
			return nil, nil, usage.Wrap(err)
		}
		for _, head := range read {
			if known, ok := written[head.N]; !ok || info.ModTime().Before(known) {
				written[head.N] = info.ModTime()
			}
		}
		heads = append(heads, read...)
	}
	return heads, written, nil
}
