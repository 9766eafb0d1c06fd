package storage

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"linkledger/events/embedded/embeddedtest"
	"linkledger/events/embedded/groupcommit"
	"linkledger/events/embedded/ledger"
	"linkledger/events/embedded/revision"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// openBare opens a storage in memory.
func openBare(t testing.TB) *Store {
	t.Helper()
	return openOn(t, vfs.NewMem())
}

func openOn(t testing.TB, disk vfs.FS) *Store {
	t.Helper()
	store, err := Open(Config{Dir: "store", FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// outcomeText formats the outcome of a write. The number in "new 3" and "again 3" is that of the
// last event.
func outcomeText(before Stat, out ledger.Outcome, after Stat) string {
	var wrong *revision.WrongError
	var deleted *revision.StreamDeletedError
	switch {
	case errors.As(out.Err, &wrong):
		return fmt.Sprintf("wrong %d", wrong.Current)
	case errors.As(out.Err, &deleted):
		return "deleted"
	case out.Err != nil:
		return out.Err.Error()
	case before.Events == after.Events:
		return fmt.Sprintf("again %d", out.Last)
	}
	return fmt.Sprintf("new %d", out.Last)
}

// TestIdempotencyMatrix is the decision table of the protocol. It writes to every kind of stream
// with every expected revision, and with events of which the stream holds all, some or none.
func TestIdempotencyMatrix(t *testing.T) {
	t.Parallel()
	// A stream that holds events holds a, b, c.
	kinds := map[string]func(*Store){
		"missing": func(*Store) {},
		"live":    func(s *Store) { embeddedtest.Append(s.writer, "s", revision.NoStream, "a", "b", "c") },
		"soft": func(s *Store) {
			embeddedtest.Append(s.writer, "s", revision.NoStream, "a", "b", "c")
			embeddedtest.Remove(s.writer, "s", revision.Any, (*ledger.Ledger).Delete)
		},
		"tombstoned": func(s *Store) {
			embeddedtest.Append(s.writer, "s", revision.NoStream, "a", "b", "c")
			embeddedtest.Remove(s.writer, "s", revision.Any, (*ledger.Ledger).Tombstone)
		},
		"metadata only": func(s *Store) { embeddedtest.Append(s.writer, "$$s", revision.NoStream, "m") },
	}
	writes := map[string][]string{
		"new":      {"x", "y"},
		"all":      {"a", "b", "c"},
		"begins":   {"a", "b"},
		"middle":   {"b", "c"},
		"partial":  {"a", "x"},
		"late":     {"x", "b"},
		"past end": {"b", "c", "x"},
		"nothing":  {},
	}
	type row struct {
		kind     string
		expected int64
		want     map[string]string // by write; writes that are not listed have want[""]
	}
	rows := []row{
		{
			"missing", revision.Any,
			map[string]string{"": "new 1", "all": "new 2", "past end": "new 2", "nothing": "again -1"},
		},
		{
			"missing", revision.NoStream,
			map[string]string{"": "new 1", "all": "new 2", "past end": "new 2", "nothing": "again -1"},
		},
		{"missing", revision.StreamExists, map[string]string{"": "wrong -1"}},
		{"missing", 0, map[string]string{"": "wrong -1"}},

		{"live", revision.Any, map[string]string{
			"new": "new 4", "all": "again 2", "begins": "again 1", "middle": "again 2",
			"partial": "wrong 2", "late": "new 4", "past end": "wrong 2", "nothing": "again 2",
		}},
		{"live", revision.StreamExists, map[string]string{
			"new": "new 4", "all": "again 2", "begins": "again 1", "middle": "again 2",
			"partial": "wrong 2", "late": "new 4", "past end": "wrong 2", "nothing": "again 2",
		}},
		{"live", revision.NoStream, map[string]string{"": "wrong 2", "all": "again 2", "begins": "again 1"}},
		{"live", 0, map[string]string{"": "wrong 2", "middle": "again 2"}},
		{"live", 1, map[string]string{"": "wrong 2"}},
		{"live", 2, map[string]string{"": "new 4", "all": "new 5", "past end": "new 5", "nothing": "again 2"}},
		{"live", 3, map[string]string{"": "wrong 2"}},

		{"soft", revision.Any, map[string]string{
			"new": "new 4", "all": "again 2", "begins": "again 1", "middle": "again 2",
			"partial": "wrong 2", "late": "new 4", "past end": "wrong 2", "nothing": "again 2",
		}},
		{"soft", revision.StreamExists, map[string]string{"": "deleted"}},
		{"soft", revision.NoStream, map[string]string{
			"new": "new 4", "all": "again 2", "begins": "again 1", "middle": "new 4",
			"partial": "wrong 2", "late": "new 4", "past end": "new 5", "nothing": "wrong 2",
		}},
		{"soft", 0, map[string]string{"": "wrong 2", "middle": "again 2"}},
		{"soft", 2, map[string]string{"": "new 4", "all": "new 5", "past end": "new 5", "nothing": "again 2"}},
		{"soft", 3, map[string]string{"": "wrong 2"}},

		{"tombstoned", revision.Any, map[string]string{"": "deleted"}},
		{"tombstoned", revision.StreamExists, map[string]string{"": "deleted"}},
		{"tombstoned", revision.NoStream, map[string]string{"": "deleted"}},
		{"tombstoned", 2, map[string]string{"": "deleted"}},

		{
			"metadata only", revision.Any,
			map[string]string{"": "new 1", "all": "new 2", "past end": "new 2", "nothing": "again -1"},
		},
		{
			"metadata only", revision.StreamExists,
			map[string]string{"": "new 1", "all": "new 2", "past end": "new 2", "nothing": "again -1"},
		},
		{
			"metadata only", revision.NoStream,
			map[string]string{"": "new 1", "all": "new 2", "past end": "new 2", "nothing": "again -1"},
		},
		{"metadata only", 0, map[string]string{"": "wrong -1"}},
	}
	for _, r := range rows {
		for name, ids := range writes {
			t.Run(fmt.Sprintf("%s/%d/%s", r.kind, r.expected, name), func(t *testing.T) {
				t.Parallel()
				s := openBare(t)
				kinds[r.kind](s)
				want, ok := r.want[name]
				if !ok {
					want = r.want[""]
				}
				before := s.Stat()
				out := embeddedtest.Append(s.writer, "s", r.expected, ids...)
				if got := outcomeText(before, out, s.Stat()); got != want {
					t.Fatalf("got %q, want %q", got, want)
				}
			})
		}
	}
}

func TestReplayAnswersOriginalPosition(t *testing.T) {
	t.Parallel()
	s := openBare(t)
	first := embeddedtest.Append(s.writer, "s", revision.NoStream, "a", "b")
	embeddedtest.Append(s.writer, "s", 1, "c")
	for _, expected := range []int64{revision.NoStream, revision.Any} {
		if again := embeddedtest.Append(s.writer, "s", expected, "a", "b"); again != first {
			t.Errorf("expected %d: got %+v, want %+v", expected, again, first)
		}
	}
}

func TestReplayWithinOneGroup(t *testing.T) {
	t.Parallel()
	s := openBare(t)
	hold, held := make(chan struct{}), make(chan struct{})
	go s.writer.Submit(context.Background(), 0, func(*ledger.Ledger) ledger.Outcome {
		close(held)
		<-hold
		return ledger.Outcome{}
	})
	<-held
	ctx := context.Background()
	var reqs []*groupcommit.Write
	for range 3 {
		req, err := s.writer.Enqueue(ctx, 0, func(l *ledger.Ledger) ledger.Outcome {
			return l.Append("s", revision.NoStream, embeddedtest.Proposals("a"))
		})
		if err != nil {
			t.Fatal(err)
		}
		reqs = append(reqs, req)
	}
	other, err := s.writer.Enqueue(ctx, 0, func(l *ledger.Ledger) ledger.Outcome {
		return l.Append("s", revision.NoStream, embeddedtest.Proposals("b"))
	})
	if err != nil {
		t.Fatal(err)
	}
	close(hold)
	first := s.writer.Wait(ctx, reqs[0])
	if first.Err != nil || first.Last != 0 {
		t.Fatalf("first: %+v", first)
	}
	for _, req := range reqs[1:] {
		if again := s.writer.Wait(ctx, req); again != first {
			t.Fatalf("again: %+v, want %+v", again, first)
		}
	}
	var wrong *revision.WrongError
	if out := s.writer.Wait(ctx, other); !errors.As(out.Err, &wrong) || wrong.Current != 0 {
		t.Fatalf("other event: %+v, want a wrong version at 0", out)
	}
}

func TestSameIDInTwoStreams(t *testing.T) {
	t.Parallel()
	s := openBare(t)
	for _, stream := range []string{"s", "t"} {
		if out := embeddedtest.Append(s.writer, stream, revision.Any, "a"); out.Err != nil || out.Last != 0 {
			t.Fatalf("%s: %+v", stream, out)
		}
	}
	before := s.Stat()
	out := embeddedtest.Append(s.writer, "t", revision.Any, "a")
	if got := outcomeText(before, out, s.Stat()); got != "again 0" {
		t.Fatalf("got %q, want the event recognized in the second stream too", got)
	}
}

func TestAbandonedRequestIsNotWritten(t *testing.T) {
	t.Parallel()
	s := openBare(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	before := s.Stat()
	req, err := s.writer.Enqueue(
		ctx, 0,
		func(l *ledger.Ledger) ledger.Outcome { return l.Append("s", revision.Any, embeddedtest.Proposals("a")) },
	)
	if err != nil {
		t.Fatal(err)
	}
	if out := s.writer.Wait(context.Background(), req); !errors.Is(out.Err, context.Canceled) || s.Stat() != before {
		t.Fatalf("got %+v, want it refused", out)
	}
}
