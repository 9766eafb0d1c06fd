package undo_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"linkledger/commands/domain"
	"linkledger/commands/domain/undo"
	"linkledger/events"
)

var noon = time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)

// by is an event and who made it: the batch to undo, or others.
type by struct {
	batch bool
	event events.Event
}

func created() events.Event {
	return events.URLCreated{
		URLID: "u", Account: "a", Hash: "pg", LongURL: "https://example.com/1", Note: "n",
		Settings: events.Settings{MaxClicks: 5}, Tags: []string{"t1", "t2"}, At: noon,
	}
}

func noted(text string) events.Event {
	return events.URLSettingsChanged{Note: &text, At: noon}
}

func archived(is bool) events.Event {
	return events.URLSettingsChanged{SettingsChange: events.SettingsChange{Archived: &is}, At: noon}
}

// TestUndo undoes the events of a batch and compares the link, the resets and the fields that
// prevent the undo.
func TestUndo(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		history []by
		skip    bool
		want    func(now domain.Link) domain.Link
		resets  []events.Revision
		refused []string
	}{
		"a creation": {
			history: []by{{true, created()}},
			want:    func(u domain.Link) domain.Link { u.Deleted = true; return u },
		},
		"a creation after a change by others": {
			history: []by{{true, created()}, {false, noted("mine")}},
			refused: []string{"note"},
		},
		"a deletion": {
			history: []by{{false, created()}, {true, events.URLDeleted{At: noon}}},
			want:    func(u domain.Link) domain.Link { u.Deleted = false; return u },
		},
		"fields": {
			history: []by{{false, created()}, {true, noted("x")}, {true, archived(true)}},
			want:    func(u domain.Link) domain.Link { u.Note, u.Archived = "n", false; return u },
		},
		"a field beside a change by others": {
			history: []by{{false, created()}, {true, noted("x")}, {false, archived(true)}},
			want:    func(u domain.Link) domain.Link { u.Note = "n"; return u },
		},
		"a field that others have changed since": {
			history: []by{{false, created()}, {true, noted("x")}, {false, noted("y")}},
			refused: []string{"note"},
		},
		"all but a field that others have changed since": {
			history: []by{{false, created()}, {true, noted("x")}, {true, archived(true)}, {false, noted("y")}},
			skip:    true,
			want:    func(u domain.Link) domain.Link { u.Archived = false; return u },
		},
		"a field that others have set back": {
			history: []by{{false, created()}, {true, noted("x")}, {false, noted("n")}},
			want:    func(u domain.Link) domain.Link { return u },
		},
		"tags, in their former order": {
			history: []by{
				{false, created()},
				{true, events.URLUntagged{Tags: []string{"t1"}, At: noon}},
				{true, events.URLTagged{Tags: []string{"t3"}, At: noon}},
			},
			want: func(u domain.Link) domain.Link { u.Tags = []string{"t1", "t2"}; return u },
		},
		"a tag that others have attached again": {
			history: []by{
				{false, created()},
				{true, events.URLTagged{Tags: []string{"t3"}, At: noon}},
				{false, events.URLUntagged{Tags: []string{"t3"}, At: noon}},
				{false, events.URLTagged{Tags: []string{"t3"}, At: noon}},
			},
			refused: []string{"tags"},
		},
		"resets, the last one first": {
			history: []by{
				{false, created()}, {true, events.URLStatsReset{At: noon}}, {true, events.URLStatsReset{At: noon}},
			},
			want:   func(u domain.Link) domain.Link { return u },
			resets: []events.Revision{2, 1},
		},
		"a reset before one by others": {
			history: []by{
				{false, created()}, {true, events.URLStatsReset{At: noon}}, {false, events.URLStatsReset{At: noon}},
			},
			refused: []string{"stats"},
		},
		"a reset that was undone": {
			history: []by{
				{false, created()},
				{true, events.URLStatsReset{At: noon}},
				{false, events.URLStatsRestored{Reset: 1, At: noon}},
			},
			want: func(u domain.Link) domain.Link { return u },
		},
		"the undo of a reset": {
			history: []by{
				{false, created()},
				{false, events.URLStatsReset{At: noon}},
				{true, events.URLStatsRestored{Reset: 1, At: noon}},
			},
			refused: []string{"stats"},
		},
		"nothing": {
			history: []by{{false, created()}, {false, noted("x")}},
			want:    func(u domain.Link) domain.Link { return u },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changes := undo.New()
			for i, e := range test.history {
				changes.Apply(e.event, events.Revision(i), e.batch)
			}
			was, resets, err := changes.Undo(test.skip)
			if test.refused != nil {
				refused, ok := errors.AsType[*domain.Error](err)
				if !ok || refused.Kind != domain.URLChanged || !slices.Equal(refused.Fields, test.refused) {
					t.Fatalf("refused with %v, want the fields %q", err, test.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := test.want(changes.Link.Clone())
			if got, want := undo.FieldsOf(was), undo.FieldsOf(want); !reflect.DeepEqual(got, want) {
				t.Errorf("the link was\n%v, want\n%v", got, want)
			}
			if !slices.Equal(was.Tags, want.Tags) {
				t.Errorf("the tags were %q, want %q", was.Tags, want.Tags)
			}
			if !slices.Equal(resets, test.resets) {
				t.Errorf("resets to undo %v, want %v", resets, test.resets)
			}
		})
	}
}
