package tags_test

import (
	"testing"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/projections"
	"linkledger/projections/foldtest"
	"linkledger/projections/logtest"
)

// TestImpossibleEvents gives the projection events that contradict the events before them.
func TestImpossibleEvents(t *testing.T) {
	t.Parallel()
	id, account := uuid.NewString(), uuid.NewString()
	tags := events.StreamTags + account
	open := events.AccountOpened{Account: account, At: logtest.Noon}
	for name, tc := range map[string]struct {
		stream     string
		sound      []events.Event
		impossible events.Event
	}{
		"rename of no tag":   {tags, nil, events.TagRenamed{TagID: id, At: logtest.Noon}},
		"tag is deleted":     {tags, []events.Event{events.TagCreated{TagID: id, At: logtest.Noon}, events.TagDeleted{TagID: id, At: logtest.Noon}}, events.TagRenamed{TagID: id, At: logtest.Noon}},
		"tag created twice":  {tags, []events.Event{events.TagCreated{TagID: id, At: logtest.Noon}}, events.TagCreated{TagID: id, At: logtest.Noon}},
		"tags of no account": {events.StreamTags + "x", nil, events.TagCreated{TagID: id, At: logtest.Noon}},
		"tag without id":     {tags, nil, events.TagCreated{At: logtest.Noon}},
		"rename without id":  {tags, nil, events.TagRenamed{At: logtest.Noon}},
		"foreign in tags":    {tags, nil, open},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			foldtest.SetsAside(t, projections.Tags, tc.stream, tc.sound, tc.impossible)
		})
	}
}

// TestEventsOfStrangers appends events that would change the tags of another account, as a hand in
// the event store may.
func TestEventsOfStrangers(t *testing.T) {
	t.Parallel()
	id := uuid.NewString()
	created := events.TagCreated{TagID: id, Label: "news", At: logtest.Noon}
	for name, foreign := range map[string]events.Event{
		"a taken id": created,
		"rename":     events.TagRenamed{TagID: id, Label: "stolen", At: logtest.Noon},
		"deletion":   events.TagDeleted{TagID: id, At: logtest.Noon},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			foldtest.SetsStrangerAside(t, projections.Tags, events.StreamTags, created, foreign)
		})
	}
}
