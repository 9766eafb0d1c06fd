package httpapi

import (
	"net/http"
	"testing"

	"github.com/google/uuid"

	"linkledger/commands"
)

// editAccount changes an account and waits for the read models.
func (s *stack) editAccount(t testing.TB, username string, edit commands.EditAccount) {
	t.Helper()
	edited, err := s.commands.EditAccount(withPatience(t), commands.Request{Command: uuid.New()}, username, edit)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.fresh.Wait(withPatience(t), projectionAccounts, edited.Position.Commit); err != nil {
		t.Fatal(err)
	}
}

// An account expires when its last day is over, also while its links are in memory.
func TestAccountsExpire(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(t, "alice")
	c.create(`"long_url":"https://example.com/","custom_hash":"one"`)
	equal(t, "before there is a date", s.visit(t, "GET", "/one").status, http.StatusFound)
	equal(t, "no expiration date", string(c.must("GET", "/v3/account", "").Account["account_expiration_date"]), `"9999-12-31 23:59:59"`)

	s.editAccount(t, "alice", commands.EditAccount{ExpirationDate: new("2026-05-14")})
	equal(t, "expiration date", string(c.must("GET", "/v3/account", "").Account["account_expiration_date"]), `"2026-05-14 23:59:59"`)
	s.heardAll(t) // or a late notification of the change would have the link forgotten
	s.at(t, "2026-05-14T23:59:59.999Z")
	equal(t, "the last moment", s.visit(t, "GET", "/one").status, http.StatusFound)
	c.read("one")

	before := s.targets.Stats()
	s.at(t, "2026-05-15T00:00:00Z")
	equal(t, "the day after", s.visit(t, "GET", "/one").status, http.StatusGone)
	equal(t, "look-ups of a link in memory", s.targets.Stats().Misses, before.Misses)
	a := c.call("GET", "/v3/urls/one", "")
	a.is(http.StatusForbidden, codeAccessDenied)
	a.has("expired")
	c.call("POST", "/v3/urls", batch(1)).is(http.StatusForbidden, codeAccessDenied)

	s.editAccount(t, "alice", commands.EditAccount{ExpirationDate: new("")})
	equal(t, "after the date was taken away", s.visit(t, "GET", "/one").status, http.StatusFound)
	c.read("one")
}

// A key that was rotated away opens nothing from the moment that the rotation is known, also for an account in memory.
func TestRotatedKey(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	before := s.client(t, "rotating")
	before.call("GET", "/v3/account", "").is(http.StatusOK, codeOK)
	rotated, err := s.commands.RotateKey(withPatience(t), commands.Request{Command: uuid.New()}, "rotating")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.fresh.Wait(withPatience(t), projectionAccounts, rotated.Position.Commit); err != nil {
		t.Fatal(err)
	}
	before.call("GET", "/v3/account", "").is(http.StatusBadRequest, codeInvalidKey)
	after := *before
	after.key = rotated.Key
	after.call("GET", "/v3/account", "").is(http.StatusOK, codeOK)
}
