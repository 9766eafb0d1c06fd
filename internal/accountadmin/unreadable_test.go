package accountadmin_test

import (
	"context"
	"testing"
	"time"

	"linkledger/events"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/internal/accountadmin"
	"linkledger/internal/installation/installationtest"
)

// TestAccountEndsDespiteUnreadableEvents deactivates and erases an account that has a member whose id is none, and events
// that this version cannot read.
func TestAccountEndsDespiteUnreadableEvents(t *testing.T) {
	t.Parallel()
	i := installationtest.New(t)
	stream := events.StreamAccount + i.Acme.Account.ID
	deactivate := func(ctx context.Context, o operator) error { return accountadmin.Deactivate(ctx, o, "acme") }
	i.AddToAcme(events.MemberSet{User: "no id", Role: "owner", At: time.Now()})
	i.Run(deactivate).Has("acme") // the next event may activate it again
	eventstoretest.Append(t, i.Events.URL(), stream, "account.future.v9", []byte(`{}`))
	eventstoretest.Append(t, i.Events.URL(), events.StreamUsername+"acme", "username.future.v9", []byte(`{}`))
	for range 2 {
		i.Run(deactivate).Has("acme")
	}
	loaded, err := i.Store.Load(t.Context(), stream)
	if err != nil || loaded[len(loaded)-1].Type != (events.AccountDeactivated{}).EventType() || len(loaded) != 5 {
		t.Errorf("%d events, the last is not a deactivation: %v", len(loaded), err)
	}
	i.Run(func(ctx context.Context, o operator) error { return accountadmin.Erase(ctx, o, "acme") }).Has("acme")
}
