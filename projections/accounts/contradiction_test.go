package accounts_test

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
	url, accounts := events.StreamURL+id, events.StreamAccount+account
	link := events.URLCreated{URLID: id, Account: account, Hash: "h", At: logtest.Noon}
	open := events.AccountOpened{Account: account, At: logtest.Noon}
	for name, tc := range map[string]struct {
		stream     string
		sound      []events.Event
		impossible events.Event
	}{
		"link among accounts":   {url, nil, link},
		"opened twice":          {accounts, []events.Event{open}, open},
		"opened without time":   {accounts, nil, events.AccountOpened{}},
		"change of no account":  {accounts, nil, events.AccountReactivated{At: logtest.Noon}},
		"account stream, no id": {events.StreamAccount + "x", nil, open},
		"foreign in account":    {accounts, []events.Event{open}, events.TagDeleted{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			foldtest.SetsAside(t, projections.Accounts, tc.stream, tc.sound, tc.impossible)
		})
	}
}

// TestTakenName opens a second account with a user name, as a hand in the event store may.
func TestTakenName(t *testing.T) {
	t.Parallel()
	open := func() events.AccountOpened {
		return events.AccountOpened{Account: uuid.NewString(), Username: "ann", KeyID: "first", At: logtest.Noon}
	}
	foldtest.SetsStrangerAside(t, projections.Accounts, events.StreamAccount, open(), open())
}
