package proofs_test

import (
	"context"
	"fmt"
	"testing"

	"linkledger/commands/audit"
	"linkledger/commands/proofs"
	"linkledger/events/eventstore"
)

// TestRecorded gets an event once that has entries for two links, and leaves out an event that its
// stream lacks. Each stream is loaded once.
func TestRecorded(t *testing.T) {
	t.Parallel()
	var loads []string
	load := func(_ context.Context, stream string) ([]eventstore.Recorded, error) {
		loads = append(loads, stream)
		return []eventstore.Recorded{{Stream: stream, Revision: 0}, {Stream: stream, Revision: 2}}, nil
	}
	found, err := proofs.Recorded(t.Context(), []audit.Entry{
		{Stream: "tags-a", Revision: 2, Link: "1"},
		{Stream: "tags-a", Revision: 2, Link: "2"},
		{Stream: "url-1", Revision: 0},
		{Stream: "tags-a", Revision: 1},
		{Stream: "tags-a", Revision: 0},
	}, load)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range found {
		got = append(got, fmt.Sprint(r.Stream, " ", r.Revision))
	}
	if want := "[tags-a 2 url-1 0 tags-a 0]"; fmt.Sprint(got) != want {
		t.Errorf("events %v, want %s", got, want)
	}
	if want := "[tags-a url-1]"; fmt.Sprint(loads) != want {
		t.Errorf("loads %v, want %s", loads, want)
	}
}
