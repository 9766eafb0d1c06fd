package deadletter_test

import (
	"errors"
	"fmt"
	"testing"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/projections/engine/deadletter"
	"linkledger/projections/projection"
)

// TestSort sorts batches of events of the streams a and b, and of clicks c. Events in upper case cannot be decoded, "!"
// outlasts dead letters, and "$" is an event of the event store.
func TestSort(t *testing.T) {
	t.Parallel()
	streams := map[rune]string{'a': "tags-a", 'b': "tags-b", 'c': events.StreamClicks + "c", '!': "tags-a", '$': "tags-a"}
	outlasts := func(e events.Event) bool { _, ok := e.(events.TagDeleted); return ok }
	for name, tc := range map[string]struct {
		batch, parked, discarded    string
		raw                         bool
		applied, unreadable, follow string
		skipped                     int
	}{
		"sound":                   {batch: "abc", applied: "[0 1 2]"},
		"unreadable":              {batch: "aAab", applied: "[0 3]", unreadable: "[1]", follow: "[2]"},
		"unreadable clicks":       {batch: "cCc", applied: "[0 2]", unreadable: "[1]"},
		"parked before":           {batch: "abc", parked: "tags-a", applied: "[1 2]", follow: "[0]"},
		"clicks parked before":    {batch: "ac", parked: events.StreamClicks + "c", applied: "[0 1]"},
		"outlasts a letter":       {batch: "!", parked: "tags-a", applied: "[0]", follow: "[0]"},
		"given up":                {batch: "ab", discarded: "tags-a", applied: "[1]"},
		"given up, outlasts":      {batch: "!b", discarded: "tags-a", applied: "[0 1]"},
		"of the event store":      {batch: "$a", applied: "[1]", skipped: 1},
		"of the event store, raw": {batch: "$a", raw: true, applied: "[0 1]"},
		"raw":                     {batch: "aAa", raw: true, applied: "[0 1 2]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var batch []eventstore.Recorded
			for i, kind := range tc.batch {
				r := eventstore.Recorded{
					Revision: eventstore.Revision(i), Type: events.TagRenamed{}.EventType(), Data: []byte("{}"),
				}
				switch {
				case kind >= 'A' && kind <= 'Z':
					kind, r.Data = kind+'a'-'A', []byte("{")
				case kind == '!':
					r.Type = events.TagDeleted{}.EventType()
				case kind == '$':
					r.Type = "$metadata"
				}
				r.Stream = streams[kind]
				batch = append(batch, r)
			}
			p := projection.Definition{Raw: tc.raw, Outlasts: outlasts}
			parked, discarded := map[string]struct{}{tc.parked: {}}, make(deadletter.Discarded)
			discarded.Add(tc.discarded, 0)
			got := deadletter.Sort(p, discarded, parked, batch)
			var applied, unreadable, follow []int
			for _, e := range got.Events {
				applied = append(applied, e.Index)
				if (e.Body == nil) != tc.raw || e.Revision != eventstore.Revision(e.Index) {
					t.Errorf("event %+v", e)
				}
			}
			for _, l := range got.Letters {
				if errors.Is(l.Cause, deadletter.ErrFollows) {
					follow = append(follow, int(l.Revision))
				} else if errors.Is(l.Cause, deadletter.ErrUnreadable) {
					unreadable = append(unreadable, int(l.Revision))
				}
			}
			want := fmt.Sprint(tc.applied, tc.unreadable, tc.follow, tc.skipped)
			if is := fmt.Sprint(text(applied), text(unreadable), text(follow), len(got.Skipped)); is != want {
				t.Errorf("applied, unreadable, following and skipped are %s, want %s", is, want)
			}
		})
	}
}

// text returns numbers as text, empty for none.
func text(numbers []int) string {
	if len(numbers) == 0 {
		return ""
	}
	return fmt.Sprint(numbers)
}
