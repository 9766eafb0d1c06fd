package eventstoretest

import (
	"fmt"
	"strconv"
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

// AppendNumbers appends events that are numbered from..to-1, each to its own stream, interleaved
// with the same number of events that do not match.
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
