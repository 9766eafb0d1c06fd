package links_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/projections"
	"linkledger/projections/engine/projector"
	"linkledger/projections/foldtest"
	"linkledger/projections/logtest"
	"linkledger/projections/projectionstest"
	"linkledger/projections/readmodel"
)

// TestWhatRedirectsLookUpAgain checks that OnCommit announces exactly the hashes whose redirects
// depend on an event, so that only these are looked up again.
func TestWhatRedirectsLookUpAgain(t *testing.T) {
	t.Parallel()
	ctx := projectionstest.Context(t)
	w := foldtest.New(t, projections.Links)
	var changed []string
	w.StartOver(ctx, t)
	p := w.Projector(ctx, t, func(cfg *projector.Config) {
		cfg.OnCommit = func(_ string, _ uint64, keys []string) { changed = keys }
	})
	link, account, note, yes, date, limit := uuid.NewString(), uuid.NewString(), "note", true, "2030-01-31", int64(3)
	log := logtest.Record(
		nil, events.StreamURL+link, 0,
		events.URLCreated{URLID: link, Account: account, Hash: "a", LongURL: "x", At: logtest.Noon},
	)
	foldtest.Apply(ctx, t, p, log)
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
				At:             logtest.Noon,
			},
			".",
		},
		{events.URLTagged{Tags: []string{uuid.NewString()}, At: logtest.Noon}, "."},
		{events.URLSettingsChanged{SettingsChange: events.SettingsChange{ExpirationDate: &date}, At: logtest.Noon}, "a"},
		{events.URLSettingsChanged{SettingsChange: events.SettingsChange{MaxClicks: &limit}, At: logtest.Noon}, "a"},
		{events.URLRetargeted{LongURL: "y", At: logtest.Noon}, "a"},
		{events.URLRenamed{From: "a", To: "b", At: logtest.Noon}, "a b"},
		{events.URLStatsReset{At: logtest.Noon}, "b"},
		{events.URLStatsRestored{At: logtest.Noon}, "b"},
		{events.URLDeleted{Account: account, Hash: "b", At: logtest.Noon}, "b"},
		{events.URLRestored{Account: account, Hash: "c", At: logtest.Noon}, "b c"},
	} {
		before := len(log)
		log = logtest.Record(log, events.StreamURL+link, log[before-1].Revision+1, step.event)
		foldtest.Apply(ctx, t, p, log[before:])
		slices.Sort(changed)
		if got := strings.Join(changed, " "); got != step.want {
			t.Errorf("%T announces %q, want %q", step.event, got, step.want)
		}
	}
	foldtest.Apply(ctx, t, p, logtest.Record(log, events.StreamClicks+"x", 0, events.ClicksRecorded{
		Clicks: []events.Click{{URLID: link, Visitor: "v", At: logtest.Noon}},
	})[len(log):])
	if len(changed) > 0 {
		t.Errorf("a click announces %q", changed)
	}
}
