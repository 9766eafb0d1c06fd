package ledger_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"

	"linkledger/events/embedded/embeddedtest"
	"linkledger/events/embedded/ledger"
	"linkledger/events/embedded/record"
	"linkledger/events/embedded/revision"
)

// outcomeText formats the outcome of a write. The number in "new 3" and "again 3" is that of the
// last event.
func outcomeText(before record.Counters, out ledger.Outcome, after record.Counters) string {
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
	kinds := map[string]func(*embeddedtest.Log){
		"missing": func(*embeddedtest.Log) {},
		"live":    func(s *embeddedtest.Log) { s.AppendTo("s", revision.NoStream, "a", "b", "c") },
		"soft": func(s *embeddedtest.Log) {
			s.AppendTo("s", revision.NoStream, "a", "b", "c")
			s.Write(func(l *ledger.Ledger) ledger.Outcome { return l.Delete("s", revision.Any) })
		},
		"tombstoned": func(s *embeddedtest.Log) {
			s.AppendTo("s", revision.NoStream, "a", "b", "c")
			s.Write(func(l *ledger.Ledger) ledger.Outcome { return l.Tombstone("s", revision.Any) })
		},
		"metadata only": func(s *embeddedtest.Log) { s.AppendTo("$$s", revision.NoStream, "m") },
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
				s := embeddedtest.NewLog(t, vfs.NewMem())
				kinds[r.kind](s)
				want, ok := r.want[name]
				if !ok {
					want = r.want[""]
				}
				before := s.Totals()
				out := s.AppendTo("s", r.expected, ids...)
				if got := outcomeText(before, out, s.Totals()); got != want {
					t.Fatalf("got %q, want %q", got, want)
				}
			})
		}
	}
}

func TestReplayAnswersOriginalPosition(t *testing.T) {
	t.Parallel()
	s := embeddedtest.NewLog(t, vfs.NewMem())
	first := s.AppendTo("s", revision.NoStream, "a", "b")
	s.AppendTo("s", 1, "c")
	for _, expected := range []int64{revision.NoStream, revision.Any} {
		if again := s.AppendTo("s", expected, "a", "b"); again != first {
			t.Errorf("expected %d: got %+v, want %+v", expected, again, first)
		}
	}
}

func TestSameIDInTwoStreams(t *testing.T) {
	t.Parallel()
	s := embeddedtest.NewLog(t, vfs.NewMem())
	for _, stream := range []string{"s", "t"} {
		if out := s.AppendTo(stream, revision.Any, "a"); out.Err != nil || out.Last != 0 {
			t.Fatalf("%s: %+v", stream, out)
		}
	}
	before := s.Totals()
	out := s.AppendTo("t", revision.Any, "a")
	if got := outcomeText(before, out, s.Totals()); got != "again 0" {
		t.Fatalf("got %q, want the event recognized in the second stream too", got)
	}
}

func TestReplayWithinOneGroup(t *testing.T) {
	t.Parallel()
	s := embeddedtest.NewLog(t, vfs.NewMem())
	var first, again, other ledger.Outcome
	group := s.Group(func() {
		first = s.Append("s", revision.NoStream, embeddedtest.Proposals("a"))
		again = s.Append("s", revision.NoStream, embeddedtest.Proposals("a"))
		other = s.Append("s", revision.NoStream, embeddedtest.Proposals("b"))
	})
	if first.Err != nil || first.Last != 0 || again != first || len(group.Events) != 1 {
		t.Fatalf("%+v, then %+v, with %d events", first, again, len(group.Events))
	}
	var wrong *revision.WrongError
	if !errors.As(other.Err, &wrong) || wrong.Current != 0 {
		t.Fatalf("other event: %+v, want a wrong version at 0", other)
	}
}

// TestDeletions checks which metadata the writes after a deletion store.
func TestDeletions(t *testing.T) {
	t.Parallel()
	s := embeddedtest.NewLog(t, vfs.NewMem())
	remove := func(stream string) ledger.Outcome {
		return s.Write(func(l *ledger.Ledger) ledger.Outcome { return l.Delete(stream, revision.Any) })
	}
	var wrong *revision.WrongError
	if out := remove("never"); !errors.As(out.Err, &wrong) || wrong.Current != record.NoEvents {
		t.Errorf("a stream that never was: %+v", out)
	}
	for name, write := range map[string]func(stream string) ledger.Outcome{
		"an event": func(stream string) ledger.Outcome {
			return s.Append(stream, revision.NoStream, embeddedtest.Proposals("c"))
		},
		"metadata": func(stream string) ledger.Outcome {
			meta := record.Proposed{ID: uuid.New(), Type: record.TypeMetadata, JSON: true, Data: []byte(`{"a":1}`)}
			return s.Append("$$"+stream, 0, []record.Proposed{meta})
		},
	} {
		s.AppendTo(name, revision.NoStream, "a", "b")
		if out := remove(name); out.Err != nil {
			t.Fatalf("%s: %v", name, out.Err)
		}
		var out ledger.Outcome
		group := s.Group(func() { out = write(name) })
		if out.Err != nil || len(group.Events) != 2 || out.Position != group.Events[0].Position {
			t.Fatalf("%s: %+v with %d events", name, out, len(group.Events))
		}
		if data := string(group.Events[1].Data); !strings.Contains(data, `"$tb":2`) {
			t.Errorf("%s: the stream begins with %s", name, data)
		}
	}
}

// TestRecover opens a log again, whole and damaged.
func TestRecover(t *testing.T) {
	t.Parallel()
	s := embeddedtest.NewLog(t, vfs.NewMem())
	first := s.AppendTo("s", revision.NoStream, "a", "b")
	again := func() (*ledger.Ledger, bool, error) {
		l := ledger.New(s.DB.DB, time.Now)
		exists, err := l.Recover(slog.New(slog.DiscardHandler))
		return l, exists, err
	}
	l, exists, err := again()
	if err != nil || !exists || l.Position() != first.Position || l.Totals() != s.Totals() {
		t.Fatalf("%v, %v; at %d with %+v", exists, err, l.Position(), l.Totals())
	}
	l.BeginGroup()
	if repeated := l.Append("s", revision.Any, embeddedtest.Proposals("a", "b")); repeated != first {
		t.Errorf("the same events again: %+v, want %+v", repeated, first)
	}
	if next := l.Append("s", 1, embeddedtest.Proposals("c")); next.Err != nil || next.Position <= first.Position {
		t.Errorf("the next event: %+v after %+v", next, first)
	}
	change := func(set func(*pebble.Batch) error) {
		batch := s.DB.NewBatch()
		if err := errors.Join(set(batch), s.DB.Apply(batch, pebble.Sync)); err != nil {
			t.Fatal(err)
		}
	}
	change(func(b *pebble.Batch) error { return b.Set(record.EventKey(first.Position), []byte("?"), nil) })
	if l, exists, err := again(); err != nil || !exists || l.Position() != first.Position {
		t.Errorf("an unreadable event: %v, %v", exists, err)
	}
	change(func(b *pebble.Batch) error { return b.Delete(record.CountersKey, nil) })
	if _, _, err := again(); !errors.Is(err, record.ErrCorrupt) {
		t.Errorf("events without counters: %v", err)
	}
	counters := s.Totals()
	change(func(b *pebble.Batch) error {
		return errors.Join(
			b.DeleteRange(record.EventKey(0), record.EventKey(record.EndOfLog), nil),
			b.Set(record.CountersKey, counters.Encode(), nil),
		)
	})
	if _, _, err := again(); !errors.Is(err, record.ErrCorrupt) {
		t.Errorf("counters without events: %v", err)
	}
}
