package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/projections/keystore"
	"linkledger/projections/readmodel"
)

// TestRepeatedChangesThatWereGivenUp gives up changes of an account that followed an event which cannot be applied. It
// repeats each command, which finds its change in the log and stores nothing, and checks that none says it is done.
func TestRepeatedChangesThatWereGivenUp(t *testing.T) {
	t.Parallel()
	dsn, server := prepared.NewDatabase(t), eventstoretest.Serve(t)
	db, err := readmodel.Open(t.Context(), dsn, 8)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	store := eventstoretest.Open(t, server.URL())
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- projections.Run(ctx, engine.Config{DB: db, Store: store, Policy: engine.Park}) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the projections: %v", err)
		}
	})
	master := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("m"), keystore.MasterKeySize))
	flags := []string{"--eventstore=" + server.URL(), "--database=" + dsn, "--master-key=" + master}
	command := func(args ...string) string {
		t.Helper()
		out, err := runWith(t, nil, slices.Concat(args, flags)...)
		if err != nil {
			return err.Error()
		}
		return out
	}
	has := func(out, want string) {
		t.Helper()
		if !strings.Contains(out, want) {
			t.Errorf("printed %q, want %q in it", out, want)
		}
	}
	const name = "--username=eve"
	command("account", "create", name)
	command("account", "deactivate", name)
	found, err := store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wait, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := projections.Await(wait, db, store, projections.Accounts, found); err != nil {
		t.Fatal(err)
	}
	id, user := "", uuid.NewString()
	if err := db.NewRaw("SELECT id FROM linkledger.accounts WHERE username = 'eve'").Scan(wait, &id); err != nil {
		t.Fatal(err)
	}
	set := events.MemberSet{User: user, Role: "viewer", At: time.Now()}
	add := func(stream string, e events.Event) {
		t.Helper()
		last, err := store.Last(wait, stream)
		if err == nil {
			_, err = store.Append(wait, eventstore.Write{
				Stream: stream, Expected: last.Revision, Command: uuid.New(), Events: []events.Event{e},
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	add(events.StreamAccount+id, events.MemberSet{User: "no id", Role: "owner", At: time.Now()})
	add(events.StreamAccount+id, set)

	changes := [][]string{
		{"account", "edit", name, "--plan=gold"},
		{"account", "edit", name, "--expires=2030-01-31"},
		{"account", "reactivate", name},
	}
	for _, change := range changes {
		has(command(change...), "cannot be applied")
		has(command(change...), "cannot be applied") // a repeat
	}
	has(command("projections", "dead-letters", "discard", projections.Accounts), "events discarded")
	for range 2 {
		for _, change := range changes {
			has(command(change...), "were given up")
		}
	}
	has(command("account", "edit", name, "--plan=pro"), "pro") // another change has its effect
	has(command("account", "edit", name, "--plan=pro"), "pro")
	has(command("account", "reactivate", name), "were given up")
	has(command("account", "deactivate", name), "false")
	has(command("account", "reactivate", name), "true")
}
