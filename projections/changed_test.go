package projections

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/projections/engine/projector"
	"linkledger/projections/readmodel"
)

// TestWhatRedirectsLookUpAgain checks that OnCommit announces exactly the hashes whose redirects
// depend on an event, so that only these are looked up again.
func TestWhatRedirectsLookUpAgain(t *testing.T) {
	t.Parallel()
	ctx := withTimeout(t)
	w := newWorkshop(t, Links)
	var changed []string
	w.startOver(ctx, t)
	p := w.projectorWith(ctx, t, func(cfg *projector.Config) {
		cfg.OnCommit = func(_ string, _ uint64, keys []string) { changed = keys }
	})
	link, account, note, yes, date, limit := uuid.NewString(), uuid.NewString(), "note", true, "2030-01-31", int64(3)
	log := record(
		nil, events.StreamURL+link, 0,
		events.URLCreated{URLID: link, Account: account, Hash: "a", LongURL: "x", At: noon},
	)
	mustHandle(ctx, t, p, log)
	if !slices.Equal(changed, []string{"a", readmodel.Everything}) {
		t.Errorf("the creation announces %q", changed)
	}
	for _, step := range []struct {
		event events.Event
		want  string
	}{
		{
			events.URLSettingsChanged{
				Note:           &note,
				SettingsChange: events.SettingsChange{Archived: &yes, Ping: &yes, Protected: &yes, EmailStats: &yes},
				At:             noon,
			},
			".",
		},
		{events.URLTagged{Tags: []string{uuid.NewString()}, At: noon}, "."},
		{events.URLSettingsChanged{SettingsChange: events.SettingsChange{ExpirationDate: &date}, At: noon}, "a"},
		{events.URLSettingsChanged{SettingsChange: events.SettingsChange{MaxClicks: &limit}, At: noon}, "a"},
		{events.URLRetargeted{LongURL: "y", At: noon}, "a"},
		{events.URLRenamed{From: "a", To: "b", At: noon}, "a b"},
		{events.URLStatsReset{At: noon}, "b"},
		{events.URLStatsRestored{At: noon}, "b"},
		{events.URLDeleted{Account: account, Hash: "b", At: noon}, "b"},
		{events.URLRestored{Account: account, Hash: "c", At: noon}, "b c"},
	} {
		before := len(log)
		log = record(log, events.StreamURL+link, log[before-1].Revision+1, step.event)
		mustHandle(ctx, t, p, log[before:])
		slices.Sort(changed)
		if got := strings.Join(changed, " "); got != step.want {
			t.Errorf("%T announces %q, want %q", step.event, got, step.want)
		}
	}
	mustHandle(ctx, t, p, record(log, events.StreamClicks+"x", 0, events.ClicksRecorded{
		Clicks: []events.Click{{URLID: link, Visitor: "v", At: noon}},
	})[len(log):])
	if len(changed) > 0 {
		t.Errorf("a click announces %q", changed)
	}
}
