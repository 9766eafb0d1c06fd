package httpapi

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/uuid"

	"linkledger/commands/accounts"
	"linkledger/commands/domain"
	"linkledger/httpapi/apierror"
	"linkledger/projections"
)

// editAccount changes an account and waits until the read models show the change.
func (s *stack) editAccount(t testing.TB, username string, edit accounts.Change) {
	t.Helper()
	edited, err := s.accounts.Edit(withTimeout(t), domain.Request{Command: uuid.New()}, username, edit)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.waiter.Wait(withTimeout(t), projections.Accounts, edited.Position.Commit); err != nil {
		t.Fatal(err)
	}
}

// TestAccountsExpire checks that an account expires at the end of its last day, even while its
// links are in memory.
func TestAccountsExpire(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(t, "alice")
	c.create(`"long_url":"https://example.com/","custom_hash":"one"`)
	equal(t, "before there is a date", s.visit(t, "GET", "/one").status, http.StatusFound)
	equal(
		t, "no expiration date", c.must("GET", "/v3/account", "").Account.ExpirationDate,
		"9999-12-31 23:59:59",
	)

	s.editAccount(t, "alice", accounts.Change{ExpirationDate: new("2026-05-14")})
	equal(
		t, "expiration date", c.must("GET", "/v3/account", "").Account.ExpirationDate,
		"2026-05-14 23:59:59",
	)
	s.awaitNotifications(t) // otherwise a late notification of the change would remove the link from memory
	s.at(t, "2026-05-14T23:59:59.999Z")
	equal(t, "the last moment", s.visit(t, "GET", "/one").status, http.StatusFound)
	c.read("one")

	before := s.targets.Stats()
	s.at(t, "2026-05-15T00:00:00Z")
	equal(t, "the day after", s.visit(t, "GET", "/one").status, http.StatusGone)
	equal(t, "look-ups of a link in memory", s.targets.Stats().Misses, before.Misses)
	a := c.call("GET", "/v3/urls/one", "")
	a.is(http.StatusForbidden, apierror.CodeAccessDenied)
	a.has("expired")
	c.call("POST", "/v3/urls", batch(1)).is(http.StatusForbidden, apierror.CodeAccessDenied)

	s.editAccount(t, "alice", accounts.Change{ExpirationDate: new("")})
	equal(t, "after the date was removed", s.visit(t, "GET", "/one").status, http.StatusFound)
	c.read("one")
}

// TestRotatedKey checks that the old key is refused as soon as the read models show the rotation,
// even for an account in memory.
func TestRotatedKey(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	before := s.client(t, "rotating")
	before.call("GET", "/v3/account", "").is(http.StatusOK, apierror.CodeOK)
	rotated, err := s.accounts.RotateKey(withTimeout(t), domain.Request{Command: uuid.New()}, "rotating")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.waiter.Wait(withTimeout(t), projections.Accounts, rotated.Position.Commit); err != nil {
		t.Fatal(err)
	}
	before.call("GET", "/v3/account", "").is(http.StatusBadRequest, apierror.CodeInvalidKey)
	after := *before
	after.key = rotated.Key
	after.call("GET", "/v3/account", "").is(http.StatusOK, apierror.CodeOK)
}

// TestDailyCalls checks that calls over the daily limit are refused until the next day and are not
// counted.
func TestDailyCalls(t *testing.T) {
	t.Parallel()
	s := newStack(t, func(cfg *Config) {
		cfg.Plans = map[string]domain.Plan{"free": {DayCalls: 4, URLs: 100, MonthURLs: 1000}}
	})
	c, other := s.client(t, "alice"), s.client(t, "bob")
	counters := func(of *client) string {
		t.Helper()
		return of.must("GET", "/v3/account", "").counters()
	}
	c.call("GET", "/v3/account", "", func(r *http.Request) { r.SetBasicAuth("alice", "wrong") }).is(
		http.StatusBadRequest, apierror.CodeInvalidKey,
	)
	c.create(`"long_url":"https://example.com/"`)
	c.call("GET", "/v3/urls/none", "").is(http.StatusNotFound, apierror.CodeURLNotFound)
	equal(t, "counters", counters(c),
		`{"month_urls":{"count":1,"limit":1000},"today_api_calls":{"count":3,"limit":4},"urls":{"count":1,"limit":100}}`)
	c.must("GET", "/v3/tags", "")
	for range 3 {
		a := c.call("POST", "/v3/urls", batch(1))
		a.is(http.StatusTooManyRequests, apierror.CodeCallLimit)
		a.has("4 API calls")
		equal(t, "Retry-After", a.header.Get("Retry-After"), "43200")
	}
	other.must("GET", "/v3/tags", "")
	s.at(t, "2026-05-14T23:59:59.5Z")
	equal(t, "Retry-After", c.call("GET", "/v3/tags", "").header.Get("Retry-After"), "1")
	s.at(t, "2026-05-15T00:00:00Z")
	equal(t, "counters of the next day", counters(c),
		`{"month_urls":{"count":1,"limit":1000},"today_api_calls":{"count":1,"limit":4},"urls":{"count":1,"limit":100}}`)
}

// TestURLLimits checks that the first items of a batch are created up to the limit. Deletions make
// links available again, but not in the limit of the month.
func TestURLLimits(t *testing.T) {
	t.Parallel()
	s := newStack(t, func(cfg *Config) { cfg.Plans = map[string]domain.Plan{"free": {URLs: 5, MonthURLs: 9}} })
	c, other := s.client(t, "alice"), s.client(t, "bob")
	other.create(`"long_url":"https://example.com/","custom_hash":"taken"`)
	c.must("POST", "/v3/urls", batch(3))
	a := c.call("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"taken"},{"long_url":"ftp://example.com/"},
		{"long_url":"https://example.com/","custom_hash":"four"},{"long_url":"https://example.com/"},{"long_url":"https://example.com/","custom_hash":"six"}]}`)
	a.is(http.StatusOK, apierror.CodeOK)
	for i, want := range []apierror.Code{
		apierror.CodeHashUnavailable, apierror.CodeInvalidURL, apierror.CodeOK, apierror.CodeOK, apierror.CodeURLLimit,
	} {
		equal(t, fmt.Sprintf("item %d", i), a.URLs[i].code(), want)
	}
	a.URLs[4].failed(t, apierror.CodeURLLimit, "5 URLs")
	equal(t, "custom_hash", *a.URLs[4].CustomHash, "six")
	other.create(`"long_url":"https://example.com/","custom_hash":"six"`) // a refused item claims no hash

	for path, body := range map[string]string{
		"/v3/urls?disable_long_url_duplicates=1":        `{"urls":[{"long_url":"https://example.com/1"},{"long_url":"https://example.com/","custom_hash":"four"}]}`,
		"/v3/urls?disable_long_url_duplicates=1&again=": `{"urls":[{"long_url":"https://example.com/2"}]}`,
	} {
		c.must("POST", path, body)
	}
	c.call("POST", "/v3/urls?disable_long_url_duplicates=1", `{"urls":[{"long_url":"https://example.com/new"}]}`).
		URLs[0].failed(t, apierror.CodeURLLimit, "5 URLs")

	c.must("DELETE", "/v3/urls/four", "")
	c.create(`"long_url":"https://example.com/new"`)
	c.must("DELETE", "/v3/urls?tags=<2030-01-01", "")
	a = c.call("POST", "/v3/urls", batch(5))
	for i, want := range []apierror.Code{
		apierror.CodeOK, apierror.CodeOK, apierror.CodeOK, apierror.CodeURLLimit, apierror.CodeURLLimit,
	} {
		equal(t, fmt.Sprintf("item %d of the month", i), a.URLs[i].code(), want)
	}
	a.URLs[4].failed(t, apierror.CodeURLLimit, "in a month")
	equal(t, "counters", c.must("GET", "/v3/account", "").counters(),
		`{"month_urls":{"count":9,"limit":9},"today_api_calls":{"count":10,"limit":0},"urls":{"count":3,"limit":5}}`)
	s.at(t, "2026-06-01T00:00:00Z")
	equal(t, "items of the next month", c.call("POST", "/v3/urls", batch(3)).URLs[2].code(), apierror.CodeURLLimit)
	equal(t, "links", c.must("GET", "/v3/urls", "").Page.TotalCount, 5)
}

// TestLimitsComeLater checks that the existing links of an account count when the account gets a
// limit.
func TestLimitsComeLater(t *testing.T) {
	t.Parallel()
	s := newStack(t, func(cfg *Config) { cfg.Plans = map[string]domain.Plan{"small": {URLs: 5}} })
	c := s.client(t, "alice")
	for _, plan := range []string{"small", "free", "small", "free", "small"} {
		s.editAccount(t, "alice", accounts.Change{Plan: &plan})
		c.must("POST", "/v3/urls", batch(1))
	}
	c.call("POST", "/v3/urls", batch(1)).URLs[0].failed(t, apierror.CodeURLLimit, "5 URLs")
	s.editAccount(t, "alice", accounts.Change{Plan: new("free")})
	c.must("POST", "/v3/urls", batch(3))
	s.editAccount(t, "alice", accounts.Change{Plan: new("small")})
	for left := 8; left > 4; left-- {
		c.call("POST", "/v3/urls", batch(1)).URLs[0].failed(t, apierror.CodeURLLimit, "5 URLs")
		c.must("DELETE", "/v3/urls/"+c.must("GET", "/v3/urls?limit=1", "").URLs[0].Hash, "")
	}
	c.must("POST", "/v3/urls", batch(1))
	c.call("POST", "/v3/urls", batch(1)).URLs[0].failed(t, apierror.CodeURLLimit, "5 URLs")
}
