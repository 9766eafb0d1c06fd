package linkrow_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/projections/linkrow"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
)

var (
	linkID  = uuid.NewSHA1(uuid.Nil, []byte("link"))
	account = uuid.NewSHA1(uuid.Nil, []byte("account"))
	one     = uuid.NewSHA1(uuid.Nil, []byte("one"))
	two     = uuid.NewSHA1(uuid.Nil, []byte("two"))
	then    = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	later   = time.Date(2026, 3, 31, 0, 0, 0, 0, time.UTC)
)

// at returns an event of the link at a revision.
func at(revision int, body events.Event) projection.Event {
	return projection.Event{
		Recorded: eventstore.Recorded{
			Stream: events.StreamURL + linkID.String(), Type: body.EventType(),
			Revision: eventstore.Revision(revision), Position: eventstore.Position{Commit: 7},
		},
		Body: body,
	}
}

// created returns the creation of the link.
func created() events.URLCreated {
	return events.URLCreated{
		URLID: linkID.String(), Account: account.String(), Hash: "h", LongURL: "l", Note: "n",
		Tags: []string{one.String(), one.String()}, At: then,
		Settings: events.Settings{Ping: true, EmailStats: true, MaxClicks: 9, ExpirationDate: "2030-01-31"},
	}
}

// row returns the row of the link, in which change has changed fields.
func row(change func(*readmodel.Link)) readmodel.Link {
	day := time.Date(2030, 1, 31, 0, 0, 0, 0, time.UTC)
	r := readmodel.Link{
		ID: linkID, AccountID: account, Hash: "h", LongURL: "l", Note: "n", TagIDs: []uuid.UUID{one}, Ping: true,
		EmailStats: true, MaxClicks: 9, ExpirationDate: &day, CreatedAt: then, ModifiedAt: then, Position: 7,
	}
	change(&r)
	return r
}

// text returns a row with all its fields.
func text(r *readmodel.Link) string {
	clone := *r
	clone.ExpirationDate = nil
	return fmt.Sprintf("%+v %v", clone, r.ExpirationDate)
}

func TestAfter(t *testing.T) {
	t.Parallel()
	yes, note, day, most := true, "other", "", int64(3)
	for name, tc := range map[string]struct {
		body events.Event
		want func(*readmodel.Link)
	}{
		"target":       {events.URLRetargeted{LongURL: "m", At: later}, func(r *readmodel.Link) { r.LongURL = "m" }},
		"hash":         {events.URLRenamed{From: "h", To: "i", At: later}, func(r *readmodel.Link) { r.Hash = "i" }},
		"no setting":   {events.URLSettingsChanged{At: later}, func(*readmodel.Link) {}},
		"note":         {events.URLSettingsChanged{Note: &note, At: later}, func(r *readmodel.Link) { r.Note = note }},
		"tag":          {events.URLTagged{Tags: []string{two.String()}, At: later}, func(r *readmodel.Link) { r.TagIDs = append(r.TagIDs, two) }},
		"the same tag": {events.URLTagged{Tags: []string{one.String()}, At: later}, func(*readmodel.Link) {}},
		"untag":        {events.URLUntagged{Tags: []string{one.String()}, At: later}, func(r *readmodel.Link) { r.TagIDs = []uuid.UUID{} }},
		"another tag":  {events.URLUntagged{Tags: []string{two.String()}, At: later}, func(*readmodel.Link) {}},
		"reset":        {events.URLStatsReset{At: later}, func(r *readmodel.Link) { r.ModifiedAt = then }},
		"undone reset": {events.URLStatsRestored{At: later}, func(r *readmodel.Link) { r.ModifiedAt = then }},
		"deletion":     {events.URLDeleted{At: later}, func(r *readmodel.Link) { r.ModifiedAt, r.DeletedAt = then, later }},
		"settings": {
			events.URLSettingsChanged{SettingsChange: events.SettingsChange{
				Archived: &yes, Protected: &yes, MaxClicks: &most, ExpirationDate: &day,
			}, At: later},
			func(r *readmodel.Link) { r.Archived, r.Protected, r.MaxClicks, r.ExpirationDate = true, true, 3, nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := linkrow.After(linkID, nil, at(0, created()))
			if err == nil {
				got, err = linkrow.After(linkID, got, at(5, tc.body))
			}
			if err != nil {
				t.Fatal(err)
			}
			want := row(func(r *readmodel.Link) { r.Revision, r.ModifiedAt = 5, later; tc.want(r) })
			if text(got) != text(&want) {
				t.Errorf("got\n%s, want\n%s", text(got), text(&want))
			}
		})
	}
}

func TestContradictions(t *testing.T) {
	t.Parallel()
	live, gone := row(func(*readmodel.Link) {}), row(func(r *readmodel.Link) { r.DeletedAt = later })
	bad, undated := "2026-02-30", created()
	undated.At = time.Time{}
	strange, tagged, dated := created(), created(), created()
	strange.Account, tagged.Tags, dated.ExpirationDate = "x", []string{"x"}, bad
	for name, tc := range map[string]struct {
		before *readmodel.Link
		body   events.Event
		is     error
	}{
		"second creation":      {&live, created(), projection.ErrContradiction},
		"change of nothing":    {nil, events.URLRetargeted{At: later}, projection.ErrContradiction},
		"change after the end": {&gone, events.URLRetargeted{At: later}, projection.ErrContradiction},
		"restored alive":       {&live, events.URLRestored{At: later}, projection.ErrContradiction},
		"created without time": {nil, undated, projection.ErrContradiction},
		"edit without time":    {&live, events.URLRenamed{To: "i"}, projection.ErrContradiction},
		"target without time":  {&live, events.URLRetargeted{}, projection.ErrContradiction},
		"deleted without time": {&live, events.URLDeleted{}, projection.ErrContradiction},
		"reset without time":   {&live, events.URLStatsReset{}, projection.ErrContradiction},
		"undone without time":  {&live, events.URLStatsRestored{}, projection.ErrContradiction},
		"foreign":              {&live, events.TagDeleted{}, projection.ErrContradiction},
		"account":              {nil, strange, nil},
		"tag":                  {nil, tagged, nil},
		"expiration date":      {nil, dated, nil},
		"tag that is no id":    {&live, events.URLTagged{Tags: []string{"x"}, At: later}, nil},
		"untag that is no id":  {&live, events.URLUntagged{Tags: []string{"x"}, At: later}, nil},
		"date in an edit": {
			&live, events.URLSettingsChanged{SettingsChange: events.SettingsChange{ExpirationDate: &bad}, At: later}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := tc.before
			if before != nil {
				clone := *before
				before = &clone
			}
			if _, err := linkrow.After(linkID, before, at(5, tc.body)); err == nil || tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("got %v, want %v", err, tc.is)
			}
		})
	}
}

// TestDetached applies an event after the deletion that followed it in the stream. The link stays deleted.
func TestDetached(t *testing.T) {
	t.Parallel()
	deleted := func(r *readmodel.Link) { r.Revision, r.DeletedAt = 9, later }
	before := row(deleted)
	event := at(5, events.URLRetargeted{LongURL: "m", At: later})
	event.Detached = true
	got, err := linkrow.After(linkID, &before, event)
	if err != nil {
		t.Fatal(err)
	}
	want := row(func(r *readmodel.Link) { deleted(r); r.LongURL, r.ModifiedAt = "m", later })
	if text(got) != text(&want) {
		t.Errorf("got\n%s, want\n%s", text(got), text(&want))
	}
	event.Revision = 10
	if _, err := linkrow.After(linkID, &before, event); !errors.Is(err, projection.ErrContradiction) {
		t.Errorf("a change after the deletion: %v", err)
	}
}

// TestRestored restores a deleted link under another hash.
func TestRestored(t *testing.T) {
	t.Parallel()
	before := row(func(r *readmodel.Link) { r.DeletedAt = then })
	got, err := linkrow.After(linkID, &before, at(5, events.URLRestored{Hash: "i", At: later}))
	want := row(func(r *readmodel.Link) { r.Hash, r.Revision, r.ModifiedAt = "i", 5, later })
	if err != nil || text(got) != text(&want) {
		t.Errorf("got\n%s, %v, want\n%s", text(got), err, text(&want))
	}
}

func TestSets(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*readmodel.Link)
		want   []string
	}{
		"live":    {func(*readmodel.Link) {}, []string{"email_stats", readmodel.SetLive, "ping", readmodel.SetOfTag(one)}},
		"deleted": {func(r *readmodel.Link) { r.DeletedAt = later }, []string{"email_stats", "ping", readmodel.SetOfTag(one)}},
		"others": {
			func(r *readmodel.Link) {
				r.Ping, r.EmailStats, r.Archived, r.Protected, r.TagIDs = false, false, true, true, nil
			}, []string{"archived", readmodel.SetLive, "protected"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := row(tc.change)
			got, want := linkrow.SetsOf(&r), slices.Concat(tc.want, []string{readmodel.SetOfDay(then)})
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("in %v, want %v", got, want)
			}
		})
	}
	if got := fmt.Sprint(linkrow.Toggled([]string{"a", "b"}, []string{"b", "c"})); got != "[a c]" {
		t.Errorf("toggled %s", got)
	}
}
