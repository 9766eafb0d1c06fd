package history_test

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
	url, tags, accounts := events.StreamURL+id, events.StreamTags+account, events.StreamAccount+account
	link := events.URLCreated{URLID: id, Account: account, Hash: "h", At: logtest.Noon}
	open := events.AccountOpened{Account: account, At: logtest.Noon}
	undated := link
	undated.At = time.Time{}
	badDate := "2026-02-30"
	for name, tc := range map[string]struct {
		stream     string
		sound      []events.Event
		impossible events.Event
	}{
		"past of no link":       {url, nil, events.URLRetargeted{At: logtest.Noon}},
		"past without time":     {url, nil, undated},
		"past of a second link": {url, []events.Event{link}, link},
		"past of no account":    {accounts, nil, events.PlanChanged{At: logtest.Noon}},
		"past opened twice":     {accounts, []events.Event{open}, open},
		"past expiry":           {accounts, []events.Event{open}, events.AccountExpiryChanged{ExpirationDate: badDate, At: logtest.Noon}},
		"past of no tag":        {tags, nil, events.TagDeleted{TagID: "news", At: logtest.Noon}},
		"foreign in the past":   {tags, nil, open},
		"past of a link":        {accounts, []events.Event{open}, link},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			foldtest.SetsAside(t, projections.History, tc.stream, tc.sound, tc.impossible)
		})
	}
}
