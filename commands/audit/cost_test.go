package audit

import (
	"strconv"
	"testing"
	"time"

	"linkledger/commands/streams"
	"linkledger/events"
	"linkledger/events/eventstore"

	"github.com/google/uuid"
)

// storedAs returns events as the event store returns them.
func storedAs(stream string, all []events.Event, at func(int) uint64) []streams.RecordedEvent {
	recorded := make([]streams.RecordedEvent, len(all))
	for i, e := range all {
		recorded[i] = streams.RecordedEvent{Recorded: eventstore.Recorded{
			Stream: stream, Revision: eventstore.Revision(i), Position: eventstore.Position{Commit: at(i)},
			Type: e.EventType(),
		}, Body: e}
	}
	return recorded
}

// TestHistoryCostsTheSameWithManyTags checks that reading an event of a history takes as long with
// many tags as with few, and that entries that were not requested are not returned.
func TestHistoryCostsTheSameWithManyTags(t *testing.T) {
	t.Parallel()
	const changes = 2_000
	perEvent := func(tags int) time.Duration {
		var all []events.Event
		ids := make([]string, tags)
		for i := range ids {
			ids[i] = uuid.NewString()
			all = append(all, events.TagCreated{TagID: ids[i], Label: "tag " + strconv.Itoa(i)})
		}
		all = append(all, events.URLCreated{URLID: "id", Account: "a", Hash: "one", Tags: ids})
		for i := range changes {
			all = append(all, events.URLRetargeted{LongURL: strconv.Itoa(i)},
				events.TagRenamed{TagID: ids[i%tags], Label: "tag " + strconv.Itoa(i) + " again"})
		}
		history := storedAs(events.StreamURL+"id", all, func(i int) uint64 { return uint64(i) })
		fastest := time.Hour
		for range 5 {
			began := time.Now()
			_, places, entries, err := linkEntries(
				t.Context(), "id", history, "a", func(entryKey) bool { return false },
			)
			if err != nil || len(places) != len(all) || len(entries) != 0 {
				t.Fatalf("%d places, %d entries, %v", len(places), len(entries), err)
			}
			if _, err := asOf(t.Context(), history, time.Now()); err != nil {
				t.Fatal(err)
			}
			fastest = min(fastest, time.Since(began)/time.Duration(len(all)))
		}
		return fastest
	}
	few, many := perEvent(100), perEvent(4_000)
	t.Logf("an event takes %s with 100 tags and %s with 4,000", few, many)
	if many > 20*few { // scanning the tags twice took a thousand times as long
		t.Errorf("an event takes %s with 100 tags and %s with 4,000", few, many)
	}
}
