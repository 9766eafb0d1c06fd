package eventstoretest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
)

// TagWrite returns a write that creates tags in a stream.
func TagWrite(
	stream string, expected eventstore.Revision, command uuid.UUID, labels ...string,
) eventstore.Write {
	w := eventstore.Write{Stream: stream, Expected: expected, Command: command}
	for _, label := range labels {
		w.Events = append(w.Events, events.TagCreated{Label: label})
	}
	return w
}

// AppendNumbers appends one tag for each number from <= n < to, each to a new stream whose name
// begins with tags-. Between them it appends the same number of tags to streams with other names.
func AppendNumbers(t *testing.T, store *eventstore.Store, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		for _, stream := range []string{"tags-", "other-"} {
			w := TagWrite(
				fmt.Sprintf("%s%d", stream, i), eventstore.NoStream, uuid.New(), strconv.Itoa(i),
			)
			if _, err := store.Append(t.Context(), w); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Fill appends n consecutive labels, 100 to a stream, and returns the positions of all events.
func Fill(t *testing.T, store *eventstore.Store, n int) []eventstore.Position {
	t.Helper()
	var positions []eventstore.Position
	for i := 0; i < n; i += 100 {
		var labels []string
		for j := i; j < min(i+100, n); j++ {
			labels = append(labels, strconv.Itoa(j))
		}
		stream := "tags-" + strconv.Itoa(i)
		if _, err := store.Append(
			t.Context(), TagWrite(stream, eventstore.NoStream, uuid.New(), labels...),
		); err != nil {
			t.Fatal(err)
		}
		loaded, err := store.Load(t.Context(), stream)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range loaded {
			positions = append(positions, r.Position)
		}
	}
	return positions
}

// WantCounted checks that the events have the labels from first to last.
func WantCounted(t *testing.T, read []eventstore.Recorded, first, last int) {
	t.Helper()
	if len(read) != last-first+1 {
		t.Fatalf("%d events, want %d", len(read), last-first+1)
	}
	for i := range read {
		if got := Labels(t, read[i:i+1]); got != strconv.Itoa(first+i) {
			t.Fatalf("event %d is %s", first+i, got)
		}
	}
}

// Labels returns the labels of the tags that events create, with a space in between.
func Labels(t *testing.T, recorded []eventstore.Recorded) string {
	t.Helper()
	var all []string
	for _, r := range recorded {
		e, err := r.Event()
		if err != nil {
			t.Fatal(err)
		}
		created, ok := e.(events.TagCreated)
		if !ok {
			t.Fatalf("event of type %s", e.EventType())
		}
		all = append(all, created.Label)
	}
	return strings.Join(all, " ")
}
