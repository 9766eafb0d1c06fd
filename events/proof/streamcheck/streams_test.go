package streamcheck_test

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"linkledger/events/eventstore"
	"linkledger/events/eventstore/metadata"
	"linkledger/events/proof/streamcheck"
)

// logged returns an event of a log.
func logged(position uint64, stream string, revision eventstore.Revision, eventType, data string) eventstore.Recorded {
	return eventstore.Recorded{
		Stream: stream, Revision: revision, Type: eventType, Data: []byte(data),
		Position: eventstore.Position{Commit: position, Prepare: position},
	}
}

// TestStreams checks that Check finds gaps (also those that scavenging leaves), the latest
// metadata of a stream, tombstones, and events of the event store.
func TestStreams(t *testing.T) {
	t.Parallel()
	const event = "url.created.v1"
	s := streamcheck.New()
	s.Add([]eventstore.Recorded{
		logged(1, "url-whole", 0, event, ""), logged(2, "url-whole", 1, event, ""),
		logged(3, "url-late", 4, event, ""), logged(4, "url-late", 5, event, ""),
		logged(5, "tags-gap", 0, event, ""), logged(6, "tags-gap", 2, event, ""),
		logged(7, "$$hash-mended", 0, metadata.TypeMetadata, `{"$tb":9}`),
		logged(8, "$$hash-mended", 1, metadata.TypeMetadata, `{}`),
		logged(9, "$$hash-cut", 0, metadata.TypeMetadata, `{"$maxCount":1,"$maxAge":60,"$acl":{"$r":"x"}}`),
		logged(10, "url-whole", math.MaxInt64, metadata.TypeTombstone, ""),
		logged(11, "url-whole", 2, "$>", "0@x"),
		logged(12, "other", 7, event, ""), logged(13, "$$other", 0, metadata.TypeMetadata, `{"$maxCount":1}`),
		logged(14, "$settings", 0, "update-default-acl", "{}"), logged(15, "$$$all", 0, metadata.TypeMetadata, "{}"),
		logged(16, "$$quota-x", 0, metadata.TypeTombstone, ""),
	})
	var listed strings.Builder
	cuts, more := s.Cuts()
	for _, c := range cuts {
		fmt.Fprintf(&listed, "%d %s %s: %s\n", c.Position.Commit, c.Kind, c.Stream, c.Details)
	}
	got := listed.String()
	const want = `3 missing url-late: event 4 comes where event 0 should be
6 missing tags-gap: event 2 comes where event 1 should be
9 hidden hash-cut: $maxCount 1, $maxAge 60, $acl
10 tombstoned url-whole: the stream has a tombstone
11 foreign url-whole: an event of type "$>"
16 hidden quota-x: metadata that cannot be read
`
	if got != want || more != 0 {
		t.Errorf("found\n%s, want\n%s, and %d more", got, want, more)
	}
	if notices := fmt.Sprint(s.Notices()); notices != "[$$$all $settings]" {
		t.Errorf("notices %s", notices)
	}
	if last := s.Last("url-whole"); last != 2 {
		t.Errorf("the last event is %d", last)
	}
	if last := s.Last("url-none"); last != eventstore.NoStream {
		t.Errorf("a stream that was never written has last event %d", last)
	}
}

// TestStreamsAreBounded checks that findings beyond the limit are only counted.
func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	const maxCuts = 1000
	s := streamcheck.New()
	for i := range 2 * maxCuts {
		s.Add([]eventstore.Recorded{
			logged(uint64(2*i+1), fmt.Sprint("url-", i), 1, "url.created.v1", ""),
			logged(uint64(2*i+2), fmt.Sprint("$$url-", i), 0, metadata.TypeMetadata, `{"$tb":1}`),
		})
	}
	if cuts, more := s.Cuts(); len(cuts) != 2*maxCuts || more != 2*maxCuts {
		t.Errorf("%d cuts and %d more", len(cuts), more)
	}
}

// BenchmarkStreams checks events of streams with two events each.
func BenchmarkStreams(b *testing.B) {
	s := streamcheck.New()
	names := make([]string, b.N/2+1)
	for i := range names {
		names[i] = fmt.Sprintf("url-%036d", i)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	b.ResetTimer()
	for i := range b.N {
		s.Add([]eventstore.Recorded{logged(uint64(i+1), names[i/2], eventstore.Revision(i%2), "url.created.v1", "")})
	}
	b.StopTimer()
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/float64(len(names)), "B/stream")
	runtime.KeepAlive(s)
	runtime.KeepAlive(names)
}
