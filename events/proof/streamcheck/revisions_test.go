package streamcheck_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"linkledger/events/eventstore"
	"linkledger/events/proof/streamcheck"
)

// TestRevisions compares what a Check knows of many streams with a map.
func TestRevisions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		check, want := streamcheck.New(), make(map[string]eventstore.Revision)
		streams := rapid.IntRange(1, 2_000).Draw(t, "streams")
		for n := range rapid.IntRange(1, 4_000).Draw(t, "events") {
			stream := fmt.Sprint("url-", n*7919%streams)
			next := want[stream]
			check.Add([]eventstore.Recorded{logged(uint64(n+1), stream, next, "url.created.v1", "")})
			want[stream] = next + 1
		}
		if cuts, _ := check.Cuts(); len(cuts) > 0 {
			t.Fatalf("streams without gaps have the cuts %v", cuts)
		}
		for stream, next := range want {
			if last := check.Last(stream); last != next-1 {
				t.Fatalf("%s: last %d, want %d", stream, last, next-1)
			}
		}
	})
}
