package proof

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"linkledger/events/eventstore"
)

// TestRevisions compares the table with a map.
func TestRevisions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		table, want := newRevisions(), make(map[string]eventstore.Revision)
		streams := rapid.IntRange(1, 2_000).Draw(t, "streams")
		for n := range rapid.IntRange(1, 4_000).Draw(t, "events") {
			stream := fmt.Sprint("url-", n*7919%streams)
			next := want[stream]
			if expected := table.set(stream, next); expected != next {
				t.Fatalf("%s: expected %d, want %d", stream, expected, next)
			}
			want[stream] = next + 1
		}
		for stream, next := range want {
			if last := table.last(stream); last != next-1 {
				t.Fatalf("%s: last %d, want %d", stream, last, next-1)
			}
		}
	})
}
