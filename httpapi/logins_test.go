package httpapi

import (
	"net/http"
	"strconv"
	"testing"
	"time"
)

func TestBadLoginsAreSlowedDown(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	alice, bob := s.client(t, "alice"), s.client(t, "bob")
	here, there := from("192.0.2.7:1", "x"), from("192.0.2.8:1", "x")
	wrong := *alice
	wrong.key = "lk_wrong"
	for range badLogins {
		wrong.call("GET", "/v3/account", "", here).is(http.StatusBadRequest, codeInvalidKey)
	}
	for _, c := range []*client{&wrong, alice} { // or else an answer would tell which key is right
		slowed := c.call("GET", "/v3/account", "", here)
		slowed.is(http.StatusTooManyRequests, codeCallLimit)
		equal(t, "Retry-After", slowed.header.Get("Retry-After"), "1")
	}
	alice.must("GET", "/v3/account", "", there)
	bob.must("GET", "/v3/account", "", here)

	s.at(t, "2026-05-14T12:00:01Z")
	alice.must("GET", "/v3/account", "", here)
	wrong.call("GET", "/v3/account", "", here).is(http.StatusBadRequest, codeInvalidKey)
	wrong.call("GET", "/v3/account", "", here).is(http.StatusTooManyRequests, codeCallLimit)

	nobody := client{t: t, handler: s.handler, username: "nobody", key: "x"}
	for range badLogins {
		nobody.call("GET", "/v3/account", "", there).is(http.StatusBadRequest, codeInvalidUsername)
	}
	nobody.call("GET", "/v3/account", "", there).is(http.StatusTooManyRequests, codeCallLimit)
}

func TestLoginsAreBounded(t *testing.T) {
	t.Parallel()
	l, now := newLogins(), time.Date(2026, 5, 14, 12, 0, 0, 0, time.UTC)
	user := strconv.Itoa
	for i := range 3 * maxLogins {
		l.failed(user(i), now)
		if len(l.bad) > maxLogins {
			t.Fatalf("%d entries", len(l.bad))
		}
	}
	for range badLogins {
		l.failed(user(-1), now)
	}
	now = now.Add(2 * badLoginPause)
	if !l.allowed(user(-1), now) {
		t.Error("who has waited is refused")
	}
	for range 2 {
		l.failed(user(-1), now)
	}
	if l.allowed(user(-1), now) {
		t.Error("who has not waited long enough is let in")
	}
	if l.shrink(now.Add(badLogins * badLoginPause)); len(l.bad) > 0 {
		t.Errorf("%d entries of those who have waited long enough are left", len(l.bad))
	}
}
