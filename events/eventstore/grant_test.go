package eventstore_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/events/eventstore/metadata"
)

// addUser makes a user as EventStoreDB does.
func addUser(t *testing.T, server *eventstoretest.Server, name, state string) {
	t.Helper()
	eventstoretest.Append(t, server.URL(), "$user-"+name, "$UserCreated", []byte(state))
}

// TestGrantLog grants the right to several users concurrently. It checks that previous rights stay,
// and that each user has the right once.
func TestGrantLog(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	store := eventstoretest.Open(t, server.URL())
	for _, user := range []string{"auditor", "a", "b"} {
		addUser(t, server, user, `{"loginName":"`+user+`","disabled":false}`)
	}
	first, err := store.GrantLog(t.Context(), "auditor")
	if err != nil || !slices.Equal(first.Before, []string{"$admins"}) ||
		!slices.Equal(first.After, []string{"$admins", "auditor"}) {
		t.Fatalf("%+v, %v", first, err)
	}
	eventstoretest.Append(
		t, server.URL(), "$$$all", metadata.TypeMetadata, []byte(`{"$acl":{"$r":"ops","$w":"writer"},"own":[1]}`),
	)
	var granting sync.WaitGroup
	for _, user := range []string{"a", "b", "a"} {
		granting.Go(func() {
			if _, err := store.GrantLog(t.Context(), user); err != nil {
				t.Error(err)
			}
		})
	}
	granting.Wait()
	last, err := store.Last(t.Context(), "$$$all")
	if err != nil {
		t.Fatal(err)
	}
	got := string(last.Data)
	if got != `{"$acl":{"$r":["ops","a","b"],"$w":"writer"},"own":[1]}` &&
		got != `{"$acl":{"$r":["ops","b","a"],"$w":"writer"},"own":[1]}` {
		t.Errorf("the metadata is %s", got)
	}
	again, err := store.GrantLog(t.Context(), "a")
	if now, _ := store.Last(t.Context(), "$$$all"); err != nil || len(again.Before) != len(again.After) ||
		now.Revision != last.Revision {
		t.Errorf("granted again: %+v, %v, revision %d of %d", again, err, now.Revision, last.Revision)
	}
}

func TestGrantLogRefuses(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	addUser(t, server, "a", "{}")
	eventstoretest.Append(t, server.URL(), "$$$all", metadata.TypeMetadata, []byte("[]"))
	if _, err := eventstoretest.Open(t, server.URL()).GrantLog(t.Context(), "a"); err == nil ||
		!strings.Contains(err.Error(), "repair") {
		t.Error(err)
	}
}

// TestGrantLogKnowsUsers checks that nobody gets a right who cannot sign in.
func TestGrantLogKnowsUsers(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	store := eventstoretest.Open(t, server.URL())
	addUser(t, server, "former", `{"loginName":"former","disabled":true}`)
	for _, name := range []string{"nobody", "former", "$nobody", "", "Linkledger"} {
		if granted, err := store.GrantLog(t.Context(), name); !errors.Is(err, eventstore.ErrNoUser) {
			t.Errorf("%q: %+v, %v", name, granted, err)
		}
	}
	if _, err := store.Last(t.Context(), "$$$all"); !errors.Is(err, eventstore.ErrNotFound) {
		t.Errorf("the rights were written: %v", err)
	}
	if granted, err := store.GrantLog(t.Context(), "$ops"); err != nil || len(granted.After) != 2 {
		t.Errorf("a role: %+v, %v", granted, err)
	}
}
