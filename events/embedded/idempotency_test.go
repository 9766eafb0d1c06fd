package embedded

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"
)

// openBare opens a store that nobody serves, for tests of the write path.
func openBare(t testing.TB) *Store {
	t.Helper()
	store, err := Open(Config{Dir: "store", FS: vfs.NewMem()})
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

func proposals(names ...string) []proposed {
	list := make([]proposed, len(names))
	for i, name := range names {
		list[i] = proposed{
			id: uuid.NewSHA1(uuid.NameSpaceOID, []byte(name)), kind: "test.happened.v1", json: true,
			data: fmt.Appendf(nil, "%q", name),
		}
	}
	return list
}

func (s *Store) testAppend(stream string, expected int64, names ...string) outcome {
	return s.writer.submit(context.Background(), 0, func(l *ledger) outcome {
		return l.planAppend(stream, expected, proposals(names...))
	})
}

func (s *Store) testRemove(stream string, expected int64, plan func(*ledger, string, int64) outcome) outcome {
	return s.writer.submit(context.Background(), 0, func(l *ledger) outcome { return plan(l, stream, expected) })
}

// verdictOf names what happened to a write: "new 3" and "again 3" are followed
// by the number of the last event.
func verdictOf(before Stat, out outcome, after Stat) string {
	var wrong *wrongVersionError
	var deleted *deletedError
	switch {
	case errors.As(out.err, &wrong):
		return fmt.Sprintf("wrong %d", wrong.current)
	case errors.As(out.err, &deleted):
		return "deleted"
	case out.err != nil:
		return out.err.Error()
	case before.Events == after.Events:
		return fmt.Sprintf("again %d", out.last)
	}
	return fmt.Sprintf("new %d", out.last)
}

// TestIdempotencyMatrix is the decision table of the protocol: every kind of
// stream, met with every expected revision and with events that are all, partly
// or not at all stored there.
func TestIdempotencyMatrix(t *testing.T) {
	t.Parallel()
	// The stream holds a, b, c where it holds anything.
	kinds := map[string]func(*Store){
		"missing": func(*Store) {},
		"live":    func(s *Store) { s.testAppend("s", expectNoStream, "a", "b", "c") },
		"soft": func(s *Store) {
			s.testAppend("s", expectNoStream, "a", "b", "c")
			s.testRemove("s", expectAny, (*ledger).planDelete)
		},
		"tombstoned": func(s *Store) {
			s.testAppend("s", expectNoStream, "a", "b", "c")
			s.testRemove("s", expectAny, (*ledger).planTombstone)
		},
		"metadata only": func(s *Store) { s.testAppend("$$s", expectNoStream, "m") },
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
		want     map[string]string // by write; the rest must be want[""]
	}
	rows := []row{
		{"missing", expectAny, map[string]string{"": "new 1", "all": "new 2", "past end": "new 2", "nothing": "again -1"}},
		{"missing", expectNoStream, map[string]string{"": "new 1", "all": "new 2", "past end": "new 2", "nothing": "again -1"}},
		{"missing", expectExists, map[string]string{"": "wrong -1"}},
		{"missing", 0, map[string]string{"": "wrong -1"}},

		{"live", expectAny, map[string]string{
			"new": "new 4", "all": "again 2", "begins": "again 1", "middle": "again 2",
			"partial": "wrong 2", "late": "new 4", "past end": "wrong 2", "nothing": "again 2",
		}},
		{"live", expectExists, map[string]string{
			"new": "new 4", "all": "again 2", "begins": "again 1", "middle": "again 2",
			"partial": "wrong 2", "late": "new 4", "past end": "wrong 2", "nothing": "again 2",
		}},
		{"live", expectNoStream, map[string]string{"": "wrong 2", "all": "again 2", "begins": "again 1"}},
		{"live", 0, map[string]string{"": "wrong 2", "middle": "again 2"}},
		{"live", 1, map[string]string{"": "wrong 2"}},
		{"live", 2, map[string]string{"": "new 4", "all": "new 5", "past end": "new 5", "nothing": "again 2"}},
		{"live", 3, map[string]string{"": "wrong 2"}},

		{"soft", expectAny, map[string]string{
			"new": "new 4", "all": "again 2", "begins": "again 1", "middle": "again 2",
			"partial": "wrong 2", "late": "new 4", "past end": "wrong 2", "nothing": "again 2",
		}},
		{"soft", expectExists, map[string]string{"": "deleted"}},
		{"soft", expectNoStream, map[string]string{
			"new": "new 4", "all": "again 2", "begins": "again 1", "middle": "new 4",
			"partial": "wrong 2", "late": "new 4", "past end": "new 5", "nothing": "wrong 2",
		}},
		{"soft", 0, map[string]string{"": "wrong 2", "middle": "again 2"}},
		{"soft", 2, map[string]string{"": "new 4", "all": "new 5", "past end": "new 5", "nothing": "again 2"}},
		{"soft", 3, map[string]string{"": "wrong 2"}},

		{"tombstoned", expectAny, map[string]string{"": "deleted"}},
		{"tombstoned", expectExists, map[string]string{"": "deleted"}},
		{"tombstoned", expectNoStream, map[string]string{"": "deleted"}},
		{"tombstoned", 2, map[string]string{"": "deleted"}},

		{"metadata only", expectAny, map[string]string{"": "new 1", "all": "new 2", "past end": "new 2", "nothing": "again -1"}},
		{"metadata only", expectExists, map[string]string{"": "new 1", "all": "new 2", "past end": "new 2", "nothing": "again -1"}},
		{"metadata only", expectNoStream, map[string]string{"": "new 1", "all": "new 2", "past end": "new 2", "nothing": "again -1"}},
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
				out := s.testAppend("s", r.expected, ids...)
				if got := verdictOf(before, out, s.Stat()); got != want {
					t.Fatalf("got %q, want %q", got, want)
				}
			})
		}
	}
}

func TestReplayAnswersOriginalPosition(t *testing.T) {
	t.Parallel()
	s := openBare(t)
	first := s.testAppend("s", expectNoStream, "a", "b")
	s.testAppend("s", 1, "c")
	for _, expected := range []int64{expectNoStream, expectAny} {
		if again := s.testAppend("s", expected, "a", "b"); again != first {
			t.Errorf("expected %d: got %+v, want %+v", expected, again, first)
		}
	}
}

func TestReplayWithinOneGroup(t *testing.T) {
	t.Parallel()
	s := openBare(t)
	hold, held := make(chan struct{}), make(chan struct{})
	go s.writer.submit(context.Background(), 0, func(*ledger) outcome {
		close(held)
		<-hold
		return outcome{}
	})
	<-held
	ctx := context.Background()
	var reqs []*write
	for range 3 {
		req, err := s.writer.enqueue(ctx, 0, func(l *ledger) outcome { return l.planAppend("s", expectNoStream, proposals("a")) })
		if err != nil {
			t.Fatal(err)
		}
		reqs = append(reqs, req)
	}
	other, err := s.writer.enqueue(ctx, 0, func(l *ledger) outcome { return l.planAppend("s", expectNoStream, proposals("b")) })
	if err != nil {
		t.Fatal(err)
	}
	close(hold)
	first := s.writer.wait(ctx, reqs[0])
	if first.err != nil || first.last != 0 {
		t.Fatalf("first: %+v", first)
	}
	for _, req := range reqs[1:] {
		if again := s.writer.wait(ctx, req); again != first {
			t.Fatalf("again: %+v, want %+v", again, first)
		}
	}
	var wrong *wrongVersionError
	if out := s.writer.wait(ctx, other); !errors.As(out.err, &wrong) || wrong.current != 0 {
		t.Fatalf("other event: %+v, want a wrong version at 0", out)
	}
}

func TestSameIDInTwoStreams(t *testing.T) {
	t.Parallel()
	s := openBare(t)
	for _, stream := range []string{"s", "t"} {
		if out := s.testAppend(stream, expectAny, "a"); out.err != nil || out.last != 0 {
			t.Fatalf("%s: %+v", stream, out)
		}
	}
	before := s.Stat()
	out := s.testAppend("t", expectAny, "a")
	if got := verdictOf(before, out, s.Stat()); got != "again 0" {
		t.Fatalf("got %q, want the event recognised in the second stream too", got)
	}
}

func TestAbandonedRequestIsNotWritten(t *testing.T) {
	t.Parallel()
	s := openBare(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	before := s.Stat()
	req := &write{ctx: ctx, done: make(chan outcome, 1), plan: func(l *ledger) outcome {
		return l.planAppend("s", expectAny, proposals("a"))
	}}
	s.writer.queue <- req
	if out := <-req.done; !errors.Is(out.err, context.Canceled) || s.Stat() != before {
		t.Fatalf("got %+v, want it refused", out)
	}
}

func TestRecentIDsForgetTheOldest(t *testing.T) {
	t.Parallel()
	r := newRecentIDs(2)
	ids := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
	for i, id := range ids {
		r.add(&record{stream: "s", id: id, number: int64(i), pos: uint64(i) + 1})
	}
	r.add(&record{stream: "s", id: ids[2], number: 9, pos: 9})
	if _, ok := r.get("s", ids[0]); ok {
		t.Error("the oldest id is still known")
	}
	if e, ok := r.get("s", ids[2]); !ok || e.number != 2 {
		t.Errorf("got %+v, want the first use", e)
	}
	if len(r.entries) != 2 || len(r.order) != 2 {
		t.Errorf("%d entries, %d in order, want 2", len(r.entries), len(r.order))
	}
}
