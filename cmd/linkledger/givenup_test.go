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
	"linkledger/projections/keystore/keyfile"
	"linkledger/projections/readmodel"
)

// TestRepeatedChangesThatWereGivenUp gives up an event of an account, and checks that the changes after it take effect.
// It then gives up a change itself, and repeats its command, which finds its change in the log and stores nothing: the
// command does not say that it is done.
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
	master := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("m"), keyfile.MasterKeySize))
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
	has(command("projections", "dead-letters", "discard", projections.Accounts), "1 events discarded, 4 later ones applied")
	has(command("account", "show", name), "gold") // what followed the event has its effect
	for _, change := range changes {
		has(command(change...), "gold") // a repeat
	}

	// The event of the next change is given up, as if this version could not apply it.
	last, err := store.Last(wait, events.StreamAccount+id)
	if err == nil {
		_, err = db.NewRaw(`INSERT INTO linkledger_keys.discarded_events (projection, stream, revision, type)
			VALUES (?, ?, ?, 'account.plan_changed.v1')`, projections.Accounts, events.StreamAccount+id, int64(last.Revision)+1).
			Exec(wait)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []string{"pause", "resume"} { // the next owner knows it
		command("projections", change, projections.Accounts)
	}
	for range 2 {
		has(command("account", "edit", name, "--plan=silver"), "was given up")
	}
	has(command("account", "edit", name, "--plan=pro"), "pro") // another change has its effect
	has(command("account", "edit", name, "--plan=pro"), "pro")
	has(command("account", "deactivate", name), "false")
	has(command("account", "reactivate", name), "true")
}
