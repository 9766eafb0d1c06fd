package effect_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/internal/accountadmin"
	"linkledger/internal/installation"
	"linkledger/internal/installation/installationtest"
	"linkledger/projections"
)

func TestMain(m *testing.M) { installationtest.Main(m) }

type (
	command  = installationtest.Command
	operator = installation.Operator
)

func edit(plan, day *string) command {
	return func(ctx context.Context, o operator) error { return accountadmin.Edit(ctx, o, "acme", plan, day) }
}

// TestRepeatedChangesThatWereGivenUp gives up an event of an account, and checks that the changes after it take effect.
// It then gives up a change itself, and repeats its command, which finds its change in the log and stores nothing: the
// command does not say that it is done.
func TestRepeatedChangesThatWereGivenUp(t *testing.T) {
	t.Parallel()
	i := installationtest.New(t)
	deactivate := func(ctx context.Context, o operator) error { return accountadmin.Deactivate(ctx, o, "acme") }
	reactivate := func(ctx context.Context, o operator) error { return accountadmin.Reactivate(ctx, o, "acme") }
	i.Run(deactivate).Has("acme")
	i.AddToAcme(events.MemberSet{User: "no id", Role: "owner", At: time.Now()})
	i.AddToAcme(events.MemberSet{User: uuid.NewString(), Role: "viewer", At: time.Now()})
	changes := []command{edit(new("gold"), nil), edit(nil, new("2030-01-31")), reactivate}
	for _, change := range changes {
		for range 2 { // with a repeat
			i.Run(change).Fails("cannot be applied", "dead-letters list accounts")
		}
	}
	given, err := projections.DiscardDeadLetters(t.Context(), i.DB, projections.Accounts, "")
	if err != nil || given.Discarded != 1 || given.Applied != 4 {
		t.Errorf("given up: %+v, %v", given, err)
	}
	i.Run(func(ctx context.Context, o operator) error { return accountadmin.Show(ctx, o, "acme") }).Has("gold")
	for _, change := range changes {
		i.Run(change).Has("gold") // a repeat
	}

	// The event of the next change is given up, as if this version could not apply it.
	stream := events.StreamAccount + i.Acme.Account.ID
	last, err := i.Store.Last(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	i.Exec(`INSERT INTO linkledger_durable.discarded_events (projection, stream, revision, type)
		VALUES (?, ?, ?, 'account.plan_changed.v1')`, projections.Accounts, stream, int64(last.Revision)+1)
	for _, change := range []error{ // the next owner knows it
		projections.Pause(t.Context(), i.DB, projections.Accounts), projections.Resume(t.Context(), i.DB, projections.Accounts),
	} {
		if change != nil {
			t.Fatal(change)
		}
	}
	for range 2 {
		i.Run(edit(new("silver"), nil)).Fails("the event of this change was discarded")
	}
	for range 2 { // another change has its effect
		i.Run(edit(new("pro"), nil)).Has("pro")
	}
	i.Run(deactivate).Has("false")
	i.Run(reactivate).Has("true")
}

// TestChangeThatIsNotShown checks that a command fails if the read models do not show its change, although they have
// all events.
func TestChangeThatIsNotShown(t *testing.T) { //nolint:tparallel // its cases share one installation
	t.Parallel()
	key := func(ctx context.Context, o operator) error {
		return accountadmin.AddKey(ctx, o, "acme", accountadmin.KeyTerms{Name: "k"})
	}
	i := installationtest.New(t)
	ada := i.Known("Ada")
	i.Exec("CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'")
	for _, table := range []string{"accounts", "api_keys", "account_members"} {
		i.Exec("CREATE TRIGGER skip BEFORE INSERT OR UPDATE ON accounts_g1." + table +
			" FOR EACH ROW EXECUTE FUNCTION skip()")
	}
	for name, run := range map[string]command{ //nolint:paralleltest // in one installation
		"plan": edit(new("gold"), nil), "day": edit(nil, new("2030-01-31")), "key": key,
		"member": func(ctx context.Context, o operator) error {
			return accountadmin.SetMember(ctx, o, "acme", ada, "viewer")
		},
		"deactivation": func(ctx context.Context, o operator) error { return accountadmin.Deactivate(ctx, o, "acme") },
	} {
		t.Run(name, func(t *testing.T) { i.Run(run).Fails("without effect") })
	}
}

// TestLateChange checks that a command warns if no projector shows its change.
func TestLateChange(t *testing.T) {
	t.Parallel()
	i := installationtest.New(t)
	i.StopProjections()
	p := i.Run(func(ctx context.Context, o operator) error {
		ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		return accountadmin.Open(ctx, o, "eve", "free")
	})
	if !strings.Contains(p.Log, "is a projector running?") {
		t.Errorf("the log does not warn: %s, %v", p.Log, p.Err)
	}
}
