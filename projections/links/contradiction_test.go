package links_test

import (
	"testing"
	"time"

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
	url := events.StreamURL + id
	link := events.URLCreated{URLID: id, Account: account, Hash: "h", At: logtest.Noon}
	open := events.AccountOpened{Account: account, At: logtest.Noon}
	date := func(date string) events.URLCreated {
		dated := link
		dated.ExpirationDate = date
		return dated
	}
	tagged, undated, ancient := link, link, link
	tagged.Tags = []string{"news"}
	undated.At = time.Time{}
	ancient.At = time.Date(0, 6, 1, 0, 0, 0, 0, time.UTC)
	badDate := "2026-02-30"
	gone := events.URLDeleted{Account: account, At: logtest.Noon}
	for name, tc := range map[string]struct {
		stream     string
		sound      []events.Event
		impossible events.Event
	}{
		"edit of no link":       {url, nil, events.URLRetargeted{At: logtest.Noon}},
		"created twice":         {url, []events.Event{link}, link},
		"edit of a deleted one": {url, []events.Event{link, gone}, events.URLRetargeted{At: logtest.Noon}},
		"restore of a live one": {url, []events.Event{link}, events.URLRestored{At: logtest.Noon}},
		"no such date":          {url, nil, date(badDate)},
		"year zero":             {url, nil, date("0000-01-01")},
		"date in an edit":       {url, []events.Event{link}, events.URLSettingsChanged{SettingsChange: events.SettingsChange{ExpirationDate: &badDate}, At: logtest.Noon}},
		"tag is no id":          {url, nil, tagged},
		"tag in an edit":        {url, []events.Event{link}, events.URLTagged{Tags: []string{"news"}, At: logtest.Noon}},
		"untag is no id":        {url, []events.Event{link}, events.URLUntagged{Tags: []string{"news"}, At: logtest.Noon}},
		"no time":               {url, nil, undated},
		"edit without time":     {url, []events.Event{link}, events.URLRetargeted{}},
		"ancient":               {url, nil, ancient},
		"stream is no id":       {events.StreamURL + "x", nil, link},
		"account is no id":      {url, nil, events.URLCreated{URLID: id, At: logtest.Noon}},
		"reset of no link":      {url, nil, events.URLStatsReset{At: logtest.Noon}},
		"undone without time":   {url, []events.Event{link}, events.URLStatsRestored{}},
		"reset without time":    {url, []events.Event{link}, events.URLStatsReset{}},
		"foreign in url":        {url, []events.Event{link}, open},
		"foreign in clicks":     {events.StreamClicks + "d", nil, open},
		"click on no id":        {events.StreamClicks + "d", nil, events.ClicksRecorded{Clicks: []events.Click{{At: logtest.Noon}}}},
		"click without time":    {events.StreamClicks + "d", nil, events.ClicksRecorded{Clicks: []events.Click{{URLID: id}}}},
		"restored of nobody":    {url, []events.Event{link, gone}, events.URLRestored{At: logtest.Noon}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			foldtest.SetsAside(t, projections.Links, tc.stream, tc.sound, tc.impossible)
		})
	}
}
