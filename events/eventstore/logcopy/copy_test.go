package logcopy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/events/eventstore/logcopy"
	"linkledger/internal/soak"
)

// interleave appends n times to ten streams in random order, several events each time.
func interleave(t *testing.T, store *eventstore.Store, n int) {
	t.Helper()
	revisions := make(map[string]eventstore.Revision)
	for i := range n {
		stream := fmt.Sprint(events.StreamAccount, rand.IntN(10))
		expected, known := revisions[stream]
		if !known {
			expected = eventstore.NoStream
			if last, err := store.Last(t.Context(), stream); err == nil {
				expected = last.Revision
			}
		}
		var labels []string
		for j := range 1 + rand.IntN(4) {
			labels = append(labels, fmt.Sprint(i, j))
		}
		w := eventstoretest.TagWrite(stream, expected, uuid.New(), labels...)
		if i%3 > 0 {
			w.Metadata = events.Metadata{CorrelationID: strconv.Itoa(i), Account: `"$copied":{}}`, RequestID: "}}"}
		}
		appended, err := store.Append(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		revisions[stream] = appended.Revision
	}
}

func readAll(t *testing.T, store *eventstore.Store) []eventstore.Recorded {
	t.Helper()
	head, err := store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all []eventstore.Recorded
	if err := store.ReadLog(t.Context(), eventstore.Position{}, head, func(batch []eventstore.Recorded) error {
		all = append(all, batch...)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// wantCopy checks that the target equals the source except for positions.
func wantCopy(t *testing.T, source, target *eventstore.Store) {
	t.Helper()
	originals, copies := readAll(t, source), readAll(t, target)
	if len(originals) != len(copies) {
		t.Fatalf("the source has %d events, the target %d", len(originals), len(copies))
	}
	for i, o := range originals {
		c := copies[i]
		first := o.Position
		if o.Origin != (eventstore.Position{}) {
			first = o.Origin
		}
		if c.ID != o.ID || c.Stream != o.Stream || c.Revision != o.Revision || c.Type != o.Type ||
			!c.Time.Equal(o.Time) ||
			!bytes.Equal(c.Data, o.Data) || !bytes.Equal(c.Metadata, o.Metadata) || c.Origin != first {
			t.Fatalf("event %d became\n%+v of\n%+v", i, c, o)
		}
	}
}

func mustCopy(t *testing.T, from, to *eventstore.Store) logcopy.Result {
	t.Helper()
	copied, err := logcopy.Copy(t.Context(), from, to, func(logcopy.Progress) {})
	if err != nil {
		t.Fatal(err)
	}
	return copied
}

func TestMain(m *testing.M) { eventstoretest.Main(m) }

// TestCopy checks that a copy equals the original in content and order, also after it was
// continued, and that the same holds for the copy of a copy.
func TestCopy(t *testing.T) {
	soak.NotShort(t)
	t.Parallel()
	source, target, third := eventstoretest.New(t), eventstoretest.New(t), eventstoretest.New(t)
	if copied := mustCopy(t, source, target); copied.Events != 0 {
		t.Errorf("an empty log: %+v", copied)
	}
	interleave(t, source, 700)
	first := mustCopy(t, source, target)
	wantCopy(t, source, target)
	interleave(t, source, 300)
	second := mustCopy(t, source, target)
	wantCopy(t, source, target)
	if first.New != first.Events || second.Events != first.Events+second.New ||
		second.Events != int64(len(readAll(t, source))) {
		t.Errorf("copied %+v, then %+v", first, second)
	}
	if again := mustCopy(t, source, target); again.New != 0 || again.Chain != second.Chain {
		t.Errorf("nothing is new: %+v after %+v", again, second)
	}
	if copied := mustCopy(t, target, third); copied.Chain != second.Chain {
		t.Errorf("the copy of a copy: %+v, want the chain of %+v", copied, second)
	}
	wantCopy(t, source, third)
	interleave(t, target, 10) // the copy accepts appends
}

// TestInterruptedCopyContinues checks that the result is the same if a copy is interrupted anywhere
// and continued by another one.
func TestInterruptedCopyContinues(t *testing.T) {
	soak.NotShort(t)
	t.Parallel()
	source, whole := eventstoretest.New(t), eventstoretest.New(t)
	interleave(t, source, 1500)
	want := mustCopy(t, source, whole)
	server := eventstoretest.Serve(t)
	target := eventstoretest.Open(t, server.URL())
	tries := 0
	for {
		ctx, cancel := context.WithCancel(t.Context())
		at := 0
		copied, err := logcopy.Copy(ctx, source, target, func(p logcopy.Progress) {
			if p.Stage != logcopy.Copying {
				return
			}
			switch at++; {
			case at == 2 && tries == 1:
				server.Stop()
				server.Start()
			case at == 2 && tries%2 == 0:
				cancel()
			}
		})
		cancel()
		if tries++; err == nil {
			if copied.Chain != want.Chain || copied.Events != want.Events {
				t.Errorf("in %d tries %+v, in one %+v", tries, copied, want)
			}
			break
		}
		if ctx.Err() == nil {
			t.Fatal(err)
		}
	}
	if tries < 2 {
		t.Error("the copy was not interrupted")
	}
	wantCopy(t, source, target)
}

func TestCopyRefuses(t *testing.T) {
	t.Parallel()
	source := eventstoretest.New(t)
	interleave(t, source, 600)
	try := func(target *eventstore.Store, during func()) error {
		_, err := logcopy.Copy(t.Context(), source, target, func(p logcopy.Progress) {
			if p.Stage == logcopy.Copying {
				during()
			}
		})
		return err
	}
	add := func(target *eventstore.Store, stream string) {
		expected := eventstore.NoStream
		if last, err := target.Last(t.Context(), stream); err == nil {
			expected = last.Revision
		}
		if _, err := target.Append(
			t.Context(), eventstoretest.TagWrite(stream, expected, uuid.New(), "foreign"),
		); err != nil {
			t.Fatal(err)
		}
	}

	other := eventstoretest.New(t)
	add(other, "tags-x")
	if err := try(other, func() {}); !errors.Is(err, eventstore.ErrOtherLog) {
		t.Errorf("a target with another history: %v", err)
	}
	longer := eventstoretest.New(t)
	mustCopy(t, source, longer)
	add(longer, "tags-x")
	if err := try(longer, func() {}); !errors.Is(err, eventstore.ErrOtherLog) {
		t.Errorf("a target with events of its own after the copy: %v", err)
	}
	beside := eventstoretest.New(t)
	if err := try(beside, func() { add(beside, "tags-x") }); !errors.Is(err, eventstore.ErrOtherLog) {
		t.Errorf("another program writes to another stream of the target: %v", err)
	}
	within := eventstoretest.New(t)
	first := events.StreamAccount + "0"
	last, err := source.Last(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	if last.Revision < 2 {
		t.Fatalf("stream %s has too few events", first)
	}
	if err := try(within, func() { add(within, first) }); !errors.Is(err, eventstore.ErrWrongRevision) {
		t.Errorf("another program writes to a copied stream of the target: %v", err)
	}
}

func TestLogID(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	source, target := eventstoretest.Open(t, server.URL()), eventstoretest.New(t)
	id := func(store *eventstore.Store) uuid.UUID {
		t.Helper()
		id, err := store.LogID(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	if id(source) != uuid.Nil {
		t.Error("an empty log has an id")
	}
	interleave(t, source, 1)
	first := id(source)
	interleave(t, source, 20)
	server.Stop()
	server.Start()
	if again := id(source); again != first || first == uuid.Nil {
		t.Errorf("the id was %s and is %s", first, again)
	}
	mustCopy(t, source, target)
	if id(target) == first {
		t.Error("a copy has the same id")
	}
}

// TestCheck checks that a copy that ends before its source is not taken for a whole one, and that
// nothing is written.
func TestCheck(t *testing.T) {
	soak.NotShort(t)
	t.Parallel()
	source, target := eventstoretest.New(t), eventstoretest.New(t)
	check := func() (logcopy.Result, error) {
		return logcopy.Check(t.Context(), source, target, func(logcopy.Progress) {})
	}
	interleave(t, source, 30)
	if _, err := check(); !errors.Is(err, logcopy.ErrIncomplete) || len(readAll(t, target)) != 0 {
		t.Errorf("an empty copy: %v", err)
	}
	copied := mustCopy(t, source, target)
	if checked, err := check(); err != nil || checked.Chain != copied.Chain || checked.Events != copied.Events {
		t.Errorf("the whole copy: %+v, %v; want %+v", checked, err, copied)
	}
	interleave(t, source, 1)
	if _, err := check(); !errors.Is(err, logcopy.ErrIncomplete) ||
		!strings.Contains(err.Error(), fmt.Sprintf("it has %d events", copied.Events)) {
		t.Errorf("an earlier copy: %v", err)
	}
	mustCopy(t, source, target)
	interleave(t, target, 1)
	if _, err := check(); !errors.Is(err, eventstore.ErrOtherLog) {
		t.Errorf("a copy with more events: %v", err)
	}
}
