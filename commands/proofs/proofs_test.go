package proofs_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"golang.org/x/mod/sumdb/tlog"

	"linkledger/commands"
	"linkledger/commands/audit"
	"linkledger/commands/commandstest"
	"linkledger/commands/domain"
	"linkledger/commands/linkwrite"
	"linkledger/commands/proofs"
	"linkledger/commands/streams"
	"linkledger/events/archive"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/events/proof"
	"linkledger/events/proof/leaf"
)

func TestMain(m *testing.M) { eventstoretest.Main(m) }

var errNoLeaf = errors.New("the tree has no such leaf")

// tree is a tree over a log, in memory.
type tree struct {
	stored []tlog.Hash
	log    []eventstore.Recorded
}

// read brings the tree to the end of a log.
func (r *tree) read(t *testing.T, store *eventstore.Store) {
	t.Helper()
	end, err := store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var behind eventstore.Position
	if n := len(r.log); n > 0 {
		behind = r.log[n-1].Position
	}
	var hasher leaf.Hasher
	err = store.ReadLog(t.Context(), behind, end, func(batch []eventstore.Recorded) error {
		for _, event := range batch {
			hashes, err := tlog.StoredHashesForRecordHash(int64(len(r.log)), hasher.Hash(event), r.hashes())
			if err != nil {
				return err
			}
			r.log, r.stored = append(r.log, event), append(r.stored, hashes...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (r *tree) hashes() tlog.HashReaderFunc {
	return func(indexes []int64) ([]tlog.Hash, error) {
		hashes := make([]tlog.Hash, len(indexes))
		for i, index := range indexes {
			hashes[i] = r.stored[index]
		}
		return hashes, nil
	}
}

func (r *tree) Size(context.Context) (int64, error)    { return int64(len(r.log)), nil }
func (r *tree) Hashes(context.Context) tlog.HashReader { return r.hashes() }
func (r *tree) LeafIndexes(
	_ context.Context, commit, _ []uint64, leaves []tlog.Hash,
) (indexes []int64, err error) {
	var hasher leaf.Hasher
	for i, at := range commit {
		index := slices.IndexFunc(r.log, func(event eventstore.Recorded) bool {
			return event.Position.Commit == at && hasher.Hash(event) == leaves[i]
		})
		if index < 0 {
			return nil, errNoLeaf
		}
		indexes = append(indexes, int64(index))
	}
	return indexes, nil
}

// stack is a log with a link of an account, which was created and edited, and its tree.
type stack struct {
	*proofs.Prover

	store *eventstore.Store
	tree  *tree
	key   string
	link  domain.Link
}

func newStack(t *testing.T) *stack {
	t.Helper()
	s := &stack{store: eventstoretest.New(t), tree: &tree{}}
	links := streams.New(streams.Config{Store: s.store})
	handler := commands.NewHandler(commands.Config{Streams: links})
	request := domain.Request{Account: "a", ID: "request", Command: uuid.New()}
	created := handler.CreateURLs(t.Context(), request, []commands.CreateURL{{LongURL: "https://example.com/1"}}).Items[0]
	if created.Err != nil {
		t.Fatal(created.Err)
	}
	s.link = created.URL
	edit := commands.EditURL{Ref: linkwrite.ByHash(s.link.Hash)[0], LongURL: commandstest.Ptr("https://example.com/2")}
	request.Command = uuid.New()
	if err := handler.EditURLs(t.Context(), request, []commands.EditURL{edit}).Items[0].Err; err != nil {
		t.Fatal(err)
	}
	var err error
	if s.key, _, err = proof.NewKey("test"); err != nil {
		t.Fatal(err)
	}
	s.Prover, err = proofs.New(proofs.Config{
		Tree: s.tree, Audit: audit.New(links, s.store, slog.New(slog.DiscardHandler)), Store: s.store, Key: s.key,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.tree.read(t, s.store)
	return s
}

func (s *stack) selection(t *testing.T) proofs.Selection {
	t.Helper()
	selected, err := s.Select(t.Context(), audit.HistoryQuery{Account: "a", Hash: s.link.Hash, Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	return selected
}

// TestProofs proves the history of a link, and checks the file, also when it or the log is another.
func TestProofs(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	selected := s.selection(t)
	if selected.Count() != 2 || selected.Total != 2 || selected.LeftOut != 0 || selected.Last() == 0 {
		t.Fatalf("%+v", selected)
	}
	var file bytes.Buffer
	head, err := s.Write(t.Context(), &file, selected)
	if err != nil || head.N != int64(len(s.tree.log)) {
		t.Fatalf("%+v, %v", head, err)
	}
	found, err := s.Check(t.Context(), strings.NewReader(file.String()))
	if err != nil || !found.InLog || len(found.Events) != 2 {
		t.Fatalf("%+v, %v", found, err)
	}
	changed := strings.Replace(file.String(), "example.com/2", "example.com/3", 1)
	if found, err := s.Check(t.Context(), strings.NewReader(changed)); !proofs.IsUnproven(err) {
		t.Errorf("a changed file: %+v, %v", found, err)
	}
	whole := *s.tree
	s.tree.log, s.tree.stored = whole.log[:len(whole.log)-1], whole.stored
	if _, err := s.Write(t.Context(), &bytes.Buffer{}, selected); err == nil {
		t.Error("a tree that lags has all proofs")
	}
	if found, err := s.Check(t.Context(), strings.NewReader(file.String())); err != nil || found.InLog {
		t.Errorf("a head after the log: %+v, %v", found, err)
	}
	*s.tree = whole
	s.tree.stored = slices.Clone(whole.stored)
	for i := range s.tree.stored {
		s.tree.stored[i][0] ^= 1
	}
	if found, err := s.Check(t.Context(), strings.NewReader(file.String())); err != nil || found.InLog {
		t.Errorf("another log: %+v, %v", found, err)
	}
	if proofs.IsUnproven(errNoLeaf) || s.PublicKey() == "" {
		t.Errorf("an outage proves that nothing is proven, with the key %q", s.PublicKey())
	}
	if _, err := proofs.New(proofs.Config{Key: "none"}); !errors.Is(err, proof.ErrNoKey) {
		t.Errorf("no key: %v", err)
	}
}

// TestWrite proves events on a head that older heads precede. Events after the head are left out.
func TestWrite(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	older, err := s.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	more := eventstoretest.TagWrite("tags-a", eventstore.NoStream, uuid.New(), "x", "y")
	if _, err := s.store.Append(t.Context(), more); err != nil {
		t.Fatal(err)
	}
	s.tree.read(t, s.store)
	head, err := s.Head(t.Context())
	if err != nil || head.N != older.N+2 {
		t.Fatalf("%+v after %+v, %v", head, older, err)
	}
	var file bytes.Buffer
	later, err := proofs.Write(t.Context(), &file, s.tree, head, []proofs.Head{older}, s.tree.log)
	if err != nil || later != 0 {
		t.Fatalf("%d later, %v", later, err)
	}
	found, err := proof.Check(&file, s.PublicKey())
	if err != nil || len(found.Events) != len(s.tree.log) || len(found.Since) != 1 {
		t.Errorf("%d events since %+v, %v", len(found.Events), found.Since, err)
	}
	if later, err := proofs.Write(t.Context(), &bytes.Buffer{}, s.tree, older, nil, s.tree.log); err != nil || later != 2 {
		t.Errorf("%d later than the older head, %v", later, err)
	}
	foreign := s.tree.log[0]
	foreign.Data = []byte(`{}`)
	if _, err := proofs.Write(
		t.Context(), &bytes.Buffer{}, s.tree, head, nil, []eventstore.Recorded{foreign},
	); !errors.Is(err, errNoLeaf) {
		t.Errorf("an event of another log: %v", err)
	}
	if _, err := proofs.Sign(t.Context(), s.tree, "none"); !errors.Is(err, proof.ErrNoKey) {
		t.Errorf("no key: %v", err)
	}
}

// TestExport checks a file of exported events against the log.
func TestExport(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	for file, want := range map[string]bool{`{"export":1}`: true, `# {"export":1}`: true, `{"head":1}`: false, "": false} {
		if proofs.IsExport(file) != want {
			t.Errorf("%q: %v", file, !want)
		}
	}
	if _, err := proofs.ReadExport("nothing"); !proofs.IsUnproven(err) {
		t.Errorf("no export: %v", err)
	}
	var file bytes.Buffer
	export, err := archive.Begin(t.Context(), s.store, &file, archive.Header{Format: archive.NDJSON})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := export.Run(t.Context(), func(archive.Position, archive.Position, int64) {}); err != nil {
		t.Fatal(err)
	}
	exported, err := proofs.ReadExport(file.String())
	if err != nil || exported.Events == 0 || exported.Account != "" || exported.Root == "" {
		t.Fatalf("%+v, %v", exported, err)
	}
	if in, err := s.Logged(t.Context(), exported); err != nil || !in {
		t.Errorf("an export of the log: %v, %v", in, err)
	}
	if err := s.CheckExport(t.Context(), exported); err != nil {
		t.Errorf("an export of the log: %v", err)
	}
	s.tree.log = s.tree.log[:len(s.tree.log)-1]
	if err := s.CheckExport(t.Context(), exported); !errors.Is(err, errNoLeaf) {
		t.Errorf("an export of another log: %v", err)
	}
	if in, err := s.Logged(t.Context(), proofs.Exported{Last: exported.Last + 1}); err != nil || in {
		t.Errorf("an export of later events: %v, %v", in, err)
	}
}
