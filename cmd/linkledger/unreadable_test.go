package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
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

// TestAccountEndsDespiteUnreadableEvents deactivates and erases an account that has a member whose id is none, and events
// that this version cannot read. It lists the dead letters before.
func TestAccountEndsDespiteUnreadableEvents(t *testing.T) {
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
	go func() { ended <- projections.Run(ctx, engine.Config{DB: db, Store: store}) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the projections: %v", err)
		}
	})
	wait, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	master := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("m"), keyfile.MasterKeySize))
	flags := []string{"--eventstore=" + server.URL(), "--database=" + dsn, "--master-key=" + master}
	command := func(args ...string) string {
		t.Helper()
		out, err := runWith(t, nil, slices.Concat(args, flags)...)
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return out
	}
	command("account", "create", "--username=eve")
	var id string
	if err := db.NewRaw("SELECT id FROM linkledger.accounts WHERE username = 'eve'").Scan(wait, &id); err != nil {
		t.Fatal(err)
	}
	stream := events.StreamAccount + id
	last, err := store.Last(wait, stream)
	if err == nil {
		_, err = store.Append(wait, eventstore.Write{
			Stream: stream, Expected: last.Revision, Command: uuid.New(),
			Events: []events.Event{events.MemberSet{User: "no id", Role: "owner", At: time.Now()}},
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	command("account", "deactivate", "--username=eve") // the next event may activate it again
	eventstoretest.Append(t, server.URL(), stream, "account.future.v9", []byte(`{}`))
	eventstoretest.Append(t, server.URL(), events.StreamUsername+"eve", "username.future.v9", []byte(`{}`))
	for range 2 {
		if out := command("account", "deactivate", "--username=eve"); !strings.Contains(out, "eve") {
			t.Errorf("deactivated: %s", out)
		}
	}
	loaded, err := store.Load(wait, stream)
	if err != nil || loaded[len(loaded)-1].Type != (events.AccountDeactivated{}).EventType() || len(loaded) != 5 {
		t.Errorf("%d events, the last is not a deactivation: %v", len(loaded), err)
	}

	if _, err := db.NewRaw(`INSERT INTO linkledger.generations
		SELECT (jsonb_populate_record(g, '{"generation": 77, "serving": false}')).* FROM linkledger.generations AS g WHERE name = 'accounts';
		INSERT INTO linkledger.dead_letters
		SELECT (jsonb_populate_record(l, '{"generation": 77}')).* FROM linkledger.dead_letters AS l WHERE revision = 1`).Exec(wait); err != nil {
		t.Fatal(err)
	}
	list := func(args ...string) string {
		t.Helper()
		return command(append([]string{"projections", "dead-letters", "list", projections.Accounts}, args...)...)
	}
	var letters []struct {
		Generation int
		Serving    bool
		Revision   int
	}
	if err := json.Unmarshal([]byte(list("--json")), &letters); err != nil {
		t.Fatal(err)
	}
	for _, l := range letters {
		if l.Serving == (l.Generation == 77) {
			t.Errorf("dead letter %+v", l)
		}
	}
	if len(letters) != 5 {
		t.Errorf("%d dead letters", len(letters))
	}
	if table := list(); !strings.Contains(table, "serving") || strings.Count(table, "\tyes\t") != 4 {
		t.Errorf("the table is\n%s", table)
	}
	if out := command("account", "erase", "eve"); !strings.Contains(out, "eve") {
		t.Errorf("erased: %s", out)
	}
}
