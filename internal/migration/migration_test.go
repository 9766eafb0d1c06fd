package migration_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/internal/console"
	"linkledger/internal/installation/installationtest"
	"linkledger/internal/migration"
	"linkledger/internal/secret"
)

// TestPrepare grants a user the right to read the log, and says what was so already.
func TestPrepare(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	eventstoretest.Append(
		t, server.URL(), "$user-linkledger", "$UserCreated", []byte(`{"loginName":"linkledger","disabled":false}`),
	)
	prepare := func(user string, json bool) installationtest.Printed {
		return installationtest.Of(t, func(c console.Console) error {
			return migration.Prepare(t.Context(), c, secret.Connection(server.URL()), user, json)
		})
	}
	for _, want := range []string{
		"linkledger may read the log of all streams ($all): $admins, linkledger, before $admins\n",
		"linkledger may read the log of all streams ($all) already: $admins, linkledger\n",
	} {
		if out := prepare("linkledger", false).Has(); out != want {
			t.Errorf("prepare prints %q; want %q", out, want)
		}
	}
	prepare("linkledger", true).Has(`"stream":"$all","right":"read"`, `"after":["$admins","linkledger"],"changed":false`)
	prepare("nobody", false).Refused("no such user: nobody", "--user (LINKLEDGER_USER)")
}

// TestCopy copies a log, continues the copy, and compares both logs.
func TestCopy(t *testing.T) {
	t.Parallel()
	from, to := eventstoretest.Serve(t), eventstoretest.Serve(t)
	source := eventstoretest.Open(t, from.URL())
	add := func(store *eventstore.Store) {
		t.Helper()
		if _, err := store.Append(t.Context(), eventstore.Write{
			Stream: events.StreamUsername + uuid.NewString(), Expected: eventstore.NoStream, Command: uuid.New(),
			Events: []events.Event{events.UsernameClaimed{Username: "a", Account: "a"}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	run := func(ctx context.Context, w migration.Wanted) installationtest.Printed {
		return installationtest.Of(t, func(c console.Console) error { return migration.Copy(ctx, c, w) })
	}
	wanted := migration.Wanted{From: secret.Connection(from.URL()), To: secret.Connection(to.URL())}
	check, asJSON, onto := wanted, wanted, wanted
	check.Check, asJSON.JSON, onto.To = true, true, wanted.From

	add(source)
	run(t.Context(), check).Fails("the copy is not complete")
	run(t.Context(), wanted).Has("1 events, 1 of them new, are the same in both: hash chain ")
	add(source)
	var copied struct {
		Events, New int64
		Chain       string
	}
	out := run(t.Context(), asJSON).Has()
	if err := json.Unmarshal([]byte(out), &copied); err != nil || copied.Events != 2 || copied.New != 1 || copied.Chain == "" {
		t.Errorf("copied %s, %v", out, err)
	}
	run(t.Context(), check).Has("2 events, 0 of them new, ", copied.Chain)
	run(t.Context(), onto).Refused("--from and --to name the same log")
	add(eventstoretest.Open(t, to.URL()))
	if p := run(t.Context(), wanted); p.Err == nil || strings.Contains(p.Out, "the same in both") {
		t.Errorf("a copy onto other events prints %s", p.Out)
	}
	to.Stop()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	run(ctx, wanted).Refused("--") // no event store answers
}
