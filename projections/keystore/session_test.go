package keystore_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/projections/keystore"
)

// TestSessions checks that sessions that are over are removed, and the oldest of too many.
func TestSessions(t *testing.T) {
	t.Parallel()
	ctx, keys := withTimeout(t), create(t)
	now := time.Date(2026, 5, 14, 12, 0, 0, 0, time.UTC)
	start := func(s keystore.Session, at time.Time) uuid.UUID {
		t.Helper()
		id, secret, err := keys.StartSession(ctx, s, at)
		if err != nil || len(secret) != 43 {
			t.Fatalf("%q, %v", secret, err)
		}
		return id
	}
	count := func(what string, want int) {
		t.Helper()
		if n := scan[int](t, keys, "SELECT count(*) FROM linkledger_keys.sessions"); n != want {
			t.Errorf("%s there are %d sessions; want %d", what, n, want)
		}
	}
	user := keystore.Session{User: uuid.New(), Account: uuid.New()}
	oldest := start(user, now)
	if err := keys.UseSession(ctx, oldest, now, now.Add(59*time.Second)); err != nil {
		t.Fatal(err)
	}
	if used := scan[time.Time](t, keys, "SELECT used_at FROM linkledger_keys.sessions"); !used.Equal(now) {
		t.Errorf("a use within a minute is stored: %s", used)
	}
	for i := range 99 {
		start(user, now.Add(time.Duration(i+1)*time.Second))
	}
	start(keystore.Session{User: uuid.New()}, now)
	start(keystore.Session{Account: user.Account, Key: "k"}, now)
	count("with many of one person", 102)
	start(user, now.Add(time.Hour))
	count("with too many of one person", 102)
	if n := scan[int](t, keys, "SELECT count(*) FROM linkledger_keys.sessions WHERE id = $1", oldest); n != 0 {
		t.Error("the oldest session stays")
	}
	last := start(keystore.Session{User: uuid.New()}, now.Add(keystore.SessionIdle+30*time.Minute))
	count("after half a day", 2) // that of the last hour, and this one
	if err := keys.UseSession(ctx, last, now, now.Add(keystore.SessionMax)); err != nil {
		t.Fatal(err)
	}
	start(keystore.Session{User: uuid.New()}, now.Add(keystore.SessionMax+keystore.SessionIdle+time.Hour))
	count("after a week", 1)
}
