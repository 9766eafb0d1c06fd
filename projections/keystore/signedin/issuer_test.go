package signedin_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/projections/keystore/keystoretest"
	"linkledger/projections/keystore/signedin"
)

// TestEndAtIssuer ends sessions by what an issuer says. A token counts once until it expires.
func TestEndAtIssuer(t *testing.T) {
	t.Parallel()
	ctx, keys := keystoretest.Context(t), keystoretest.Create(t)
	now := time.Date(2026, 5, 14, 12, 0, 0, 0, time.UTC)
	ada, eve := uuid.New(), uuid.New()
	start := func(s signedin.Session) (uuid.UUID, string) {
		t.Helper()
		id, secret, err := keys.StartSession(ctx, s, now)
		if err != nil {
			t.Fatal(err)
		}
		return id, secret
	}
	end := func(s signedin.SignOut, at time.Time, wantFresh bool, left int) {
		t.Helper()
		fresh, err := keys.EndAtIssuer(ctx, s, at)
		if err != nil || fresh != wantFresh {
			t.Errorf("fresh: %t, %v; want %t", fresh, err, wantFresh)
		}
		if n := keystoretest.Scan[int](t, keys, "SELECT count(*) FROM linkledger_durable.sessions"); n != left {
			t.Errorf("%d sessions are left; want %d", n, left)
		}
	}
	start(signedin.Session{User: ada, IssuerSID: []byte("one")})
	start(signedin.Session{User: ada, IssuerSID: []byte("two")})
	start(signedin.Session{User: ada})
	start(signedin.Session{User: eve, IssuerSID: []byte("of eve")})
	start(signedin.Session{User: eve})
	start(signedin.Session{Account: uuid.New(), Key: "k"})
	soon := now.Add(time.Minute)
	end(signedin.SignOut{Token: []byte("1"), Expires: soon, IssuerSID: []byte("one")}, now, true, 5)
	end(signedin.SignOut{Token: []byte("1"), Expires: soon, IssuerSID: []byte("two")}, now, false, 5)
	end(signedin.SignOut{Token: []byte("2"), Expires: soon, IssuerSID: []byte("none"), User: ada}, now, true, 4)
	end(signedin.SignOut{Token: []byte("3"), Expires: soon, User: eve}, now, true, 2)
	end(signedin.SignOut{Token: []byte("4"), Expires: soon}, now, true, 2) // of nobody who is known
	end(signedin.SignOut{Token: []byte("5"), Expires: soon.Add(time.Hour)}, soon, true, 2)
	if n := keystoretest.Scan[int](t, keys, "SELECT count(*) FROM linkledger_durable.issuer_sign_outs"); n != 1 {
		t.Errorf("%d tokens are kept; want that which has not expired", n)
	}
}

// TestIDToken checks that an ID token is read with the secret of its session alone.
func TestIDToken(t *testing.T) {
	t.Parallel()
	ctx, keys := keystoretest.Context(t), keystoretest.Create(t)
	now := time.Date(2026, 5, 14, 12, 0, 0, 0, time.UTC)
	long := string(make([]byte, 4097))
	for name, tc := range map[string]struct{ token, want string }{
		"short": {"a.b.c", "a.b.c"}, "none": {"", ""}, "longest": {long[1:], long[1:]}, "too long": {long, ""},
	} {
		id, secret, err := keys.StartSession(ctx, signedin.Session{User: uuid.New(), IDToken: tc.token}, now)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := keys.IDToken(ctx, id, secret); err != nil || got != tc.want {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		if got, err := keys.IDToken(ctx, id, secret+"x"); tc.want != "" && err == nil || got != "" {
			t.Errorf("%s with another secret: %q, %v", name, got, err)
		}
	}
	if got, err := keys.IDToken(ctx, uuid.New(), "secret"); err != nil || got != "" {
		t.Errorf("of no session: %q, %v", got, err)
	}
}

// TestFormerSessions updates the table of sessions of a program that did not know those of issuers.
func TestFormerSessions(t *testing.T) {
	t.Parallel()
	ctx, keys := keystoretest.Context(t), keystoretest.Create(t)
	now := time.Date(2026, 5, 14, 12, 0, 0, 0, time.UTC)
	user := uuid.New()
	if _, _, err := keys.StartSession(ctx, signedin.Session{User: user}, now); err != nil {
		t.Fatal(err)
	}
	keys.Exec(t, "ALTER TABLE linkledger_durable.sessions DROP COLUMN issuer_sid, DROP COLUMN id_token")
	keys.Exec(t, "DROP TABLE linkledger_durable.issuer_sign_outs")
	for range 2 {
		if err := keys.Update(ctx); err != nil {
			t.Fatal(err)
		}
	}
	fresh, err := keys.EndAtIssuer(ctx, signedin.SignOut{Token: []byte("1"), Expires: now, User: user}, now)
	if err != nil || !fresh {
		t.Errorf("fresh: %t, %v", fresh, err)
	}
	if n := keystoretest.Scan[int](t, keys, "SELECT count(*) FROM linkledger_durable.sessions"); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}
