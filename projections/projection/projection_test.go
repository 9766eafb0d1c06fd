package projection_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/projections/projection"
)

func TestCut(t *testing.T) {
	t.Parallel()
	alone := func(r eventstore.Recorded) bool { return r.Type == "!" }
	for name, tc := range map[string]struct {
		p    projection.Definition
		all  string
		want string
	}{
		"no rule":          {projection.Definition{}, "a!b", "[[a ! b]]"},
		"nothing":          {projection.Definition{Alone: alone}, "", "[[]]"},
		"none alone":       {projection.Definition{Alone: alone}, "ab", "[[a b]]"},
		"in the middle":    {projection.Definition{Alone: alone}, "ab!c", "[[a b] [!] [c]]"},
		"at both ends":     {projection.Definition{Alone: alone}, "!a!", "[[!] [a] [!]]"},
		"one after others": {projection.Definition{Alone: alone}, "!!", "[[!] [!]]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var all []string
			for _, r := range tc.all {
				all = append(all, string(r))
			}
			parts := projection.Cut(tc.p, all, func(of string) eventstore.Recorded { return eventstore.Recorded{Type: of} })
			if got := fmt.Sprint(parts); got != tc.want {
				t.Errorf("parts %s, want %s", got, tc.want)
			}
		})
	}
}

func TestSet(t *testing.T) {
	t.Parallel()
	set := projection.Set{{Name: "a"}, {Name: "b", Raw: true}}
	if p, err := set.Named("b"); err != nil || !p.Raw {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := set.Named("c"); !errors.Is(err, projection.ErrUnknown) {
		t.Errorf("an unknown name: %v", err)
	}
	if got := fmt.Sprint(set.Names()); got != "[a b]" {
		t.Errorf("names %s", got)
	}
	types := projection.Types(events.TagDeleted{}, events.TagRenamed{}).Types
	if got := fmt.Sprint(types); got != "[tag.deleted.v1 tag.renamed.v1]" {
		t.Errorf("types %s", got)
	}
}

// tagDeleted returns an event as the event store has it.
func tagDeleted(stream string) eventstore.Recorded {
	return eventstore.Recorded{
		Stream: stream, Type: events.TagDeleted{}.EventType(), Data: []byte(`{"tag_id":"x"}`), Revision: 4,
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	system, foreign, broken := tagDeleted("tags-x"), tagDeleted("tags-\x00"), tagDeleted("tags-x")
	system.Type, broken.Data = "$metadata", []byte("{")
	var p projection.Definition
	decoded, err := p.Decode([]eventstore.Recorded{system, foreign, tagDeleted("tags-\xff"), tagDeleted("tags-x")})
	if err != nil || len(decoded) != 1 || decoded[0].Index != 3 || decoded[0].Body != (events.TagDeleted{TagID: "x"}) {
		t.Errorf("decoded %+v, %v", decoded, err)
	}
	_, err = p.Decode([]eventstore.Recorded{tagDeleted("tags-x"), broken})
	if failed, ok := errors.AsType[*projection.EventError](err); !ok || failed.Index != 1 || failed.Revision != 4 {
		t.Errorf("a broken body: %v", err)
	}
	p.Raw = true
	if decoded, err := p.Decode([]eventstore.Recorded{system, broken}); err != nil || len(decoded) != 2 ||
		decoded[1].Body != nil {
		t.Errorf("raw %+v, %v", decoded, err)
	}
}

func TestDetached(t *testing.T) {
	t.Parallel()
	isTag := func(e events.Event) bool { _, ok := e.(events.TagDeleted); return ok }
	broken, other := tagDeleted("tags-x"), tagDeleted("tags-x")
	broken.Data, other.Type = []byte("{"), events.TagRenamed{}.EventType()
	for name, tc := range map[string]struct {
		p    projection.Definition
		r    eventstore.Recorded
		want bool
	}{
		"outlasts":     {projection.Definition{Outlasts: isTag}, tagDeleted("tags-x"), true},
		"another type": {projection.Definition{Outlasts: isTag}, other, false},
		"broken":       {projection.Definition{Outlasts: isTag}, broken, false},
		"no rule":      {projection.Definition{}, tagDeleted("tags-x"), false},
		"raw":          {projection.Definition{Outlasts: isTag, Raw: true}, tagDeleted("tags-x"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, ok := tc.p.Detached(tc.r, 5)
			if ok != tc.want || ok && (!e.Detached || !e.AtOnce || e.Index != 5 || e.Body == nil) {
				t.Errorf("%+v, %t", e, ok)
			}
		})
	}
}

func TestEach(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	var seen []int
	err := projection.Each(make([]projection.Event, 3), func(projection.Event) error {
		seen = append(seen, len(seen))
		if len(seen) == 2 {
			return cause
		}
		return nil
	})
	if _, ok := errors.AsType[*projection.EventError](err); !ok || !errors.Is(err, cause) || len(seen) != 2 {
		t.Errorf("%v after %d events", err, len(seen))
	}
}

// TestStreams checks the ids in the names of streams.
func TestStreams(t *testing.T) {
	t.Parallel()
	id := uuid.New()
	in := func(stream string) projection.Event {
		return projection.Event{Recorded: eventstore.Recorded{Stream: stream}}
	}
	if got, err := in(events.StreamTags + id.String()).Subject(events.StreamTags); got != id || err != nil {
		t.Errorf("subject %s, %v", got, err)
	}
	if got, err := in(events.StreamURL + id.String()).Link(); got != id || err != nil {
		t.Errorf("link %s, %v", got, err)
	}
	if _, err := in(events.StreamURL + id.String()).Subject(events.StreamTags); !errors.Is(err, projection.ErrContradiction) {
		t.Errorf("subject of another stream: %v", err)
	}
	if _, err := in(events.StreamTags + id.String()).Link(); !errors.Is(err, projection.ErrContradiction) {
		t.Errorf("link of another stream: %v", err)
	}
	if _, err := projection.ParseIDs([]string{id.String(), "x"}); err == nil {
		t.Error("x is an id")
	}
	if ids, err := projection.ParseIDs([]string{id.String()}); err != nil || len(ids) != 1 || ids[0] != id {
		t.Errorf("ids %v, %v", ids, err)
	}
	if !projection.Independent(events.StreamClicks+"x") || projection.Independent(events.StreamURL+"x") {
		t.Error("clicks alone do not depend on each other")
	}
	for body, want := range map[events.Event]bool{
		events.HashClaimed{}: true, events.CreationAbandoned{}: true, events.URLDeleted{}: false,
	} {
		if (projection.Event{Body: body}).IsClaim() != want {
			t.Errorf("%T is a claim: %t", body, !want)
		}
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	recorded := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		at   time.Time
		want bool
	}{
		"none":             {time.Time{}, false},
		"year zero":        {time.Date(0, 12, 31, 0, 0, 0, 0, time.UTC), false},
		"the first year":   {time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC), true},
		"the last year":    {time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), true},
		"after the last":   {time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), false},
		"after it, in UTC": {time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -3600*2)), false},
	} {
		if err := projection.CheckTime(tc.at); (err == nil) != tc.want {
			t.Errorf("%s: %v", name, err)
		}
		e := projection.Event{Recorded: eventstore.Recorded{Time: recorded}}
		if want := tc.at; e.Or(tc.at).Equal(want) != tc.want {
			t.Errorf("%s: the time is %s", name, e.Or(tc.at))
		}
	}
	for text, want := range map[string]string{"": "<nil> <nil>", "2028-02-29": "2028-02-29 00:00:00 +0000 UTC <nil>"} {
		if got, err := projection.ParseDate(text); fmt.Sprint(got, err) != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"2026-02-30", "0000-01-01", "x"} {
		if _, err := projection.ParseDate(text); err == nil {
			t.Errorf("%q is a date", text)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	err := projection.NewEventError(tagDeleted("tags-x"), 2, projection.Unexpected(projection.Event{
		Recorded: tagDeleted("url-x"),
	}))
	want := "tag.deleted.v1, event 4 of tags-x at position 0: " +
		"event contradicts the history before it: tag.deleted.v1 has no place in stream url-x"
	if err.Error() != want || !errors.Is(err, projection.ErrContradiction) || err.Index != 2 {
		t.Errorf("got %q, want %q", err.Error(), want)
	}
}
