package attestation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"

	"linkledger/commands"
	"linkledger/commands/audit"
	"linkledger/commands/domain"
	"linkledger/commands/proofs"
	"linkledger/commands/streams"
	"linkledger/events/eventstore"
	"linkledger/events/proof"
	"linkledger/internal/console"
	"linkledger/internal/installation"
	"linkledger/internal/secret"
	"linkledger/internal/usage"
	"linkledger/projections/readmodel"
	"linkledger/queries"
	"linkledger/queries/logtree"
)

// ProofRequest says what to prove, and with which keys.
type ProofRequest struct {
	// Hash selects the events to prove: all events, except clicks, of the links that ever used the
	// hash. If Hash is empty, no events are proved.
	Hash string
	// Checkpoint is a file of heads. The proofs rest on the last head in the file. If Checkpoint is
	// empty, a new head is signed.
	Checkpoint string
	// Since are files of older heads. The proofs show that the log continues them.
	Since      []string
	SigningKey secret.Text // signs a new head
	PublicKey  string      // verifies the heads in files
}

// Prove prints the proofs that a request asks for.
func Prove(ctx context.Context, o installation.Operator, r ProofRequest) error {
	if r.Hash == "" && len(r.Since) == 0 {
		return usage.Errorf("nothing to prove: give a hash, or older heads with --since")
	}
	older, _, err := readHeads(r.Since, r.PublicKey)
	if err != nil {
		return err
	}
	return o.Operate(ctx, func(
		ctx context.Context, db *readmodel.DB, store *eventstore.Store,
	) error {
		var recorded []eventstore.Recorded
		var cut error
		if r.Hash != "" {
			var err error
			if recorded, cut, err = recordedOf(ctx, o.Auditor(store), store, r.Hash); err != nil {
				return err
			}
		}
		head, err := r.base(ctx, db, store)
		if err != nil {
			return err
		}
		if err := r.write(ctx, o, db, head, older, recorded); err != nil {
			return altered(errors.Join(err, cut))
		}
		if cut != nil {
			return fmt.Errorf("the %d events that the log has are proved, but their history was "+
				"cut: %w: linkledger audit verify lists what is cut",
				len(recorded), cut)
		}
		return nil
	})
}

// base returns the head that the proofs rest on.
func (r ProofRequest) base(
	ctx context.Context, db *readmodel.DB, store *eventstore.Store,
) (proof.Head, error) {
	if r.Checkpoint == "" {
		return signHead(ctx, db, store, r.SigningKey)
	}
	heads, _, err := readHeads([]string{r.Checkpoint}, r.PublicKey)
	if err != nil {
		return proof.Head{}, err
	}
	head := heads[len(heads)-1]
	size, err := logtree.New(db).Size(ctx)
	if err == nil && head.N > size {
		err = fmt.Errorf("the head has %d events and the tree in PostgreSQL has %d: the tree "+
			"lags, or the log was cut off, or the head is of another log: linkledger audit "+
			"verify --checkpoint %s shows which", head.N, size, r.Checkpoint)
	}
	return head, err
}

// recordedOf returns the stored events of a hash and of the links that ever used it. cut is nil if
// readers get all of these events. If some are hidden from readers or missing, cut names them, and
// recorded has all that are in the log, hidden ones included.
func recordedOf(
	ctx context.Context, reader *audit.Reader, store *eventstore.Store, hash string,
) (recorded []eventstore.Recorded, cut, err error) {
	of := audit.HistoryQuery{Hash: hash}
	history, err := reader.History(ctx, of)
	load := store.Load
	if errors.Is(err, commands.ErrCut) {
		var logged streams.Logged
		cut = err
		history, logged, err = reader.LoggedHistory(ctx, of)
		if missing := missingText(logged); missing != "" {
			cut = fmt.Errorf("%w; the log does not have %s", cut, missing)
		}
		load = func(_ context.Context, stream string) ([]eventstore.Recorded, error) {
			return logged[stream], nil
		}
	}
	if refused, ok := errors.AsType[*domain.Error](err); ok {
		return nil, nil, usage.Wrap(errors.Join(refused, cut))
	}
	if err != nil {
		return nil, nil, err
	}
	recorded, err = proofs.Recorded(ctx, history.Entries, load)
	return recorded, cut, err
}

// missingText names the revisions that the log lacks. It is empty if there are none.
func missingText(logged streams.Logged) string {
	missing := logged.Missing()
	var texts []string
	for _, stream := range slices.Sorted(maps.Keys(missing)) {
		for _, part := range missing[stream] {
			texts = append(texts, fmt.Sprintf("events %d to %d of %s", part[0], part[1], stream))
		}
	}
	return strings.Join(texts, ", ")
}

// write writes the proofs to standard output.
func (r ProofRequest) write(
	ctx context.Context, o installation.Operator, db *readmodel.DB, head proof.Head,
	older []proof.Head, recorded []eventstore.Recorded,
) error {
	later, err := proofs.Write(ctx, console.Exact(o.Stdout), logtree.New(db), head, older, recorded)
	if err == nil && later > 0 {
		o.Logger.WarnContext(
			ctx, "events after the head are left out", slog.Int("events", later),
		)
	}
	return err
}

// altered adds an explanation to an error that means that the log or its tree was altered. It
// returns other errors unchanged.
func altered(err error) error {
	if errors.Is(err, proof.ErrUnproven) || errors.Is(err, queries.ErrNotFound) {
		return fmt.Errorf(
			"%w: the log or the tree in PostgreSQL was altered; audit verify says where",
			err,
		)
	}
	return err
}

// VerifyProof verifies a file of proofs with the public key of its head, and prints the result.
func VerifyProof(name, publicKey string, stdout io.Writer) error {
	if publicKey == "" {
		return usage.Errorf(
			"proofs are verified with their key: give it with --public-key (%s)",
			usage.Env("public-key"),
		)
	}
	file, err := os.Open(name)
	if err != nil {
		return usage.Wrap(err)
	}
	defer func() { _ = file.Close() }() // it was only read
	proven, err := proof.Check(file, publicKey)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := console.Printf(
		stdout, "%s proves %d of the %d events of the signed log\n", name, len(proven.Events),
		proven.Head.N,
	); err != nil {
		return err
	}
	for _, older := range proven.Since {
		if err := console.Printf(
			stdout, "the log continues the head of %d events, root hash %s\n", older.N,
			older.Hash,
		); err != nil {
			return err
		}
	}
	if len(proven.Events) == 0 {
		return nil
	}
	rows := make([]console.Row, len(proven.Events))
	for i, e := range proven.Events {
		rows[i] = console.Row{
			e.Index, e.Position.Commit, console.Time(e.Time), e.Stream, e.Revision, e.Type,
		}
	}
	return console.Table(
		stdout, console.Row{"index", "position", "time (UTC)", "stream", "revision", "type"}, rows,
	)
}
