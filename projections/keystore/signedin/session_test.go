package signedin_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/projections/keystore/keystoretest"
	"linkledger/projections/keystore/signedin"
)

// TestSessions checks that sessions that are over are removed, and the oldest of too many.
func TestSessions(t *testing.T) {
	t.Parallel()
	ctx, keys := keystoretest.Context(t), keystoretest.Create(t)
	now := time.Date(2026, 5, 14, 12, 0, 0, 0, time.UTC)
	start := func(s signedin.Session, at time.Time) uuid.UUID {
		t.Helper()
		id, secret, err := keys.StartSession(ctx, s, at)
		if err != nil || len(secret) != 43 {
			t.Fatalf("%q, %v", secret, err)
		}
		return id
	}
	count := func(what string, want int) {
		t.Helper()
		if n := keystoretest.Scan[int](t, keys, "SELECT count(*) FROM linkledger_durable.sessions"); n != want {
			t.Errorf("%s there are %d sessions; want %d", what, n, want)
		}
	}
	user := signedin.Session{User: uuid.New(), Account: uuid.New()}
	oldest := start(user, now)
	if err := keys.UseSession(ctx, oldest, now, now.Add(59*time.Second)); err != nil {
		t.Fatal(err)
	}
	if used := keystoretest.Scan[time.Time](t, keys, "SELECT used_at FROM linkledger_durable.sessions"); !used.Equal(now) {
		t.Errorf("a use within a minute is stored: %s", used)
	}
	for i := range 99 {
		start(user, now.Add(time.Duration(i+1)*time.Second))
	}
	start(signedin.Session{User: uuid.New()}, now)
	start(signedin.Session{Account: user.Account, Key: "k"}, now)
	count("with many of one person", 102)
	start(user, now.Add(time.Hour))
	count("with too many of one person", 102)
	if n := keystoretest.Scan[int](t, keys, "SELECT count(*) FROM linkledger_durable.sessions WHERE id = $1", oldest); n != 0 {
		t.Error("the oldest session stays")
	}
	for range 101 {
		start(signedin.Session{Operator: true}, now)
	}
	count("with too many of operators", 202)
	last := start(signedin.Session{User: uuid.New()}, now.Add(signedin.SessionIdle+30*time.Minute))
	count("after half a day", 2) // that of the last hour, and this one
	if err := keys.UseSession(ctx, last, now, now.Add(signedin.SessionMax)); err != nil {
		t.Fatal(err)
	}
	start(signedin.Session{User: uuid.New()}, now.Add(signedin.SessionMax+signedin.SessionIdle+time.Hour))
	count("after a week", 1)
}

// TestOperatorsAtOnce signs a person in twice at once, as an operator and as none. All sessions get the role of the
// sign-in that ends last.
func TestOperatorsAtOnce(t *testing.T) {
	t.Parallel()
	ctx, keys := keystoretest.Context(t), keystoretest.Create(t)
	now := time.Date(2026, 5, 14, 12, 0, 0, 0, time.UTC)
	for range 20 {
		user := uuid.New()
		keys.Exec(t, "INSERT INTO linkledger_durable.account_keys (account_id) VALUES ($1)", user)
		var both sync.WaitGroup
		for _, operator := range []bool{true, false} {
			both.Go(func() {
				if _, _, err := keys.StartSession(ctx, signedin.Session{User: user, Operator: operator}, now); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		const roles = "SELECT count(DISTINCT operator) FROM linkledger_durable.sessions WHERE user_id = $1"
		if n := keystoretest.Scan[int](t, keys, roles, user); n != 1 {
			t.Fatalf("the sessions of a person have %d roles", n)
		}
		if err := keys.EndOperator(ctx, user); err != nil {
			t.Fatal(err)
		}
	}
	const left = "SELECT count(*) FROM linkledger_durable.sessions WHERE operator"
	if n := keystoretest.Scan[int](t, keys, left); n != 0 {
		t.Errorf("%d sessions are left of operators", n)
	}
}
