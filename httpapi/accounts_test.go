package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/uuid"

	"linkledger/commands/accounts"
	"linkledger/commands/domain"
	"linkledger/httpapi"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
	"linkledger/projections"
)

// TestAccountsExpire checks that an account expires at the end of its last day, even while its
// links are in memory.
func TestAccountsExpire(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	c.Create(`"long_url":"https://example.com/","custom_hash":"one"`)
	httpapitest.Equal(t, "before there is a date", s.Visit(t, "GET", "/one").Status, http.StatusFound)
	httpapitest.Equal(
		t, "no expiration date", c.Must("GET", "/v3/account", "").Account.ExpirationDate,
		"9999-12-31 23:59:59",
	)

	s.EditAccount(t, "alice", accounts.Change{ExpirationDate: new("2026-05-14")})
	httpapitest.Equal(
		t, "expiration date", c.Must("GET", "/v3/account", "").Account.ExpirationDate,
		"2026-05-14 23:59:59",
	)
	s.AwaitNotifications(t) // otherwise a late notification of the change would remove the link from memory
	s.SetTime(t, "2026-05-14T23:59:59.999Z")
	httpapitest.Equal(t, "the last moment", s.Visit(t, "GET", "/one").Status, http.StatusFound)
	c.Read("one")

	before := s.Targets.Stats()
	s.SetTime(t, "2026-05-15T00:00:00Z")
	httpapitest.Equal(t, "the day after", s.Visit(t, "GET", "/one").Status, http.StatusGone)
	httpapitest.Equal(t, "look-ups of a link in memory", s.Targets.Stats().Misses, before.Misses)
	a := c.Call("GET", "/v3/urls/one", "")
	a.Is(http.StatusForbidden, apierror.CodeAccessDenied)
	a.Has("expired")
	c.Call("POST", "/v3/urls", httpapitest.Batch(1)).Is(http.StatusForbidden, apierror.CodeAccessDenied)

	s.EditAccount(t, "alice", accounts.Change{ExpirationDate: new("")})
	httpapitest.Equal(t, "after the date was removed", s.Visit(t, "GET", "/one").Status, http.StatusFound)
	c.Read("one")
}

// TestRotatedKey checks that the old key is refused as soon as the read models show the rotation,
// even for an account in memory.
func TestRotatedKey(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	before := s.Client(t, "rotating")
	before.Call("GET", "/v3/account", "").Is(http.StatusOK, apierror.CodeOK)
	rotated, err := s.Accounts.RotateKey(httpapitest.WithTimeout(t), domain.Request{Command: uuid.New()}, "rotating")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Waiter.Wait(httpapitest.WithTimeout(t), projections.Accounts, rotated.Position.Commit); err != nil {
		t.Fatal(err)
	}
	before.Call("GET", "/v3/account", "").Is(http.StatusBadRequest, apierror.CodeInvalidKey)
	after := *before
	after.Key = rotated.Key
	after.Call("GET", "/v3/account", "").Is(http.StatusOK, apierror.CodeOK)
}

// TestDailyCalls checks that calls over the daily limit are refused until the next day and are not
// counted.
func TestDailyCalls(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t, func(cfg *httpapi.Config) {
		cfg.Plans = map[string]domain.Plan{"free": {DayCalls: 4, URLs: 100, MonthURLs: 1000}}
	})
	c, other := s.Client(t, "alice"), s.Client(t, "bob")
	counters := func(of *httpapitest.Client) string {
		t.Helper()
		return of.Must("GET", "/v3/account", "").Counters()
	}
	c.Call("GET", "/v3/account", "", func(r *http.Request) { r.SetBasicAuth("alice", "wrong") }).Is(
		http.StatusBadRequest, apierror.CodeInvalidKey,
	)
	c.Create(`"long_url":"https://example.com/"`)
	c.Call("GET", "/v3/urls/none", "").Is(http.StatusNotFound, apierror.CodeURLNotFound)
	httpapitest.Equal(t, "counters", counters(c),
		`{"month_urls":{"count":1,"limit":1000},"today_api_calls":{"count":3,"limit":4},"urls":{"count":1,"limit":100}}`)
	c.Must("GET", "/v3/tags", "")
	for range 3 {
		a := c.Call("POST", "/v3/urls", httpapitest.Batch(1))
		a.Is(http.StatusTooManyRequests, apierror.CodeCallLimit)
		a.Has("4 API calls")
		httpapitest.Equal(t, "Retry-After", a.Header.Get("Retry-After"), "43200")
	}
	other.Must("GET", "/v3/tags", "")
	s.SetTime(t, "2026-05-14T23:59:59.5Z")
	httpapitest.Equal(t, "Retry-After", c.Call("GET", "/v3/tags", "").Header.Get("Retry-After"), "1")
	s.SetTime(t, "2026-05-15T00:00:00Z")
	httpapitest.Equal(t, "counters of the next day", counters(c),
		`{"month_urls":{"count":1,"limit":1000},"today_api_calls":{"count":1,"limit":4},"urls":{"count":1,"limit":100}}`)
}

// TestURLLimits checks that the first items of a batch are created up to the limit. Deletions make
// links available again, but not in the limit of the month.
func TestURLLimits(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t, func(cfg *httpapi.Config) { cfg.Plans = map[string]domain.Plan{"free": {URLs: 5, MonthURLs: 9}} })
	c, other := s.Client(t, "alice"), s.Client(t, "bob")
	other.Create(`"long_url":"https://example.com/","custom_hash":"taken"`)
	c.Must("POST", "/v3/urls", httpapitest.Batch(3))
	a := c.Call("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"taken"},{"long_url":"ftp://example.com/"},
		{"long_url":"https://example.com/","custom_hash":"four"},{"long_url":"https://example.com/"},{"long_url":"https://example.com/","custom_hash":"six"}]}`)
	a.Is(http.StatusOK, apierror.CodeOK)
	for i, want := range []apierror.Code{
		apierror.CodeHashUnavailable, apierror.CodeInvalidURL, apierror.CodeOK, apierror.CodeOK, apierror.CodeURLLimit,
	} {
		httpapitest.Equal(t, fmt.Sprintf("item %d", i), a.URLs[i].Code(), want)
	}
	a.URLs[4].Failed(t, apierror.CodeURLLimit, "5 URLs")
	httpapitest.Equal(t, "custom_hash", *a.URLs[4].CustomHash, "six")
	other.Create(`"long_url":"https://example.com/","custom_hash":"six"`) // a refused item claims no hash

	for path, body := range map[string]string{
		"/v3/urls?disable_long_url_duplicates=1":        `{"urls":[{"long_url":"https://example.com/1"},{"long_url":"https://example.com/","custom_hash":"four"}]}`,
		"/v3/urls?disable_long_url_duplicates=1&again=": `{"urls":[{"long_url":"https://example.com/2"}]}`,
	} {
		c.Must("POST", path, body)
	}
	c.Call("POST", "/v3/urls?disable_long_url_duplicates=1", `{"urls":[{"long_url":"https://example.com/new"}]}`).
		URLs[0].Failed(t, apierror.CodeURLLimit, "5 URLs")

	c.Must("DELETE", "/v3/urls/four", "")
	c.Create(`"long_url":"https://example.com/new"`)
	c.Must("DELETE", "/v3/urls?tags=<2030-01-01", "")
	a = c.Call("POST", "/v3/urls", httpapitest.Batch(5))
	for i, want := range []apierror.Code{
		apierror.CodeOK, apierror.CodeOK, apierror.CodeOK, apierror.CodeURLLimit, apierror.CodeURLLimit,
	} {
		httpapitest.Equal(t, fmt.Sprintf("item %d of the month", i), a.URLs[i].Code(), want)
	}
	a.URLs[4].Failed(t, apierror.CodeURLLimit, "in a month")
	httpapitest.Equal(t, "counters", c.Must("GET", "/v3/account", "").Counters(),
		`{"month_urls":{"count":9,"limit":9},"today_api_calls":{"count":10,"limit":0},"urls":{"count":3,"limit":5}}`)
	s.SetTime(t, "2026-06-01T00:00:00Z")
	httpapitest.Equal(t, "items of the next month", c.Call("POST", "/v3/urls", httpapitest.Batch(3)).URLs[2].Code(), apierror.CodeURLLimit)
	httpapitest.Equal(t, "links", c.Must("GET", "/v3/urls", "").Page.TotalCount, 5)
}

// TestLimitsComeLater checks that the existing links of an account count when the account gets a
// limit.
func TestLimitsComeLater(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t, func(cfg *httpapi.Config) { cfg.Plans = map[string]domain.Plan{"small": {URLs: 5}} })
	c := s.Client(t, "alice")
	for _, plan := range []string{"small", "free", "small", "free", "small"} {
		s.EditAccount(t, "alice", accounts.Change{Plan: &plan})
		c.Must("POST", "/v3/urls", httpapitest.Batch(1))
	}
	c.Call("POST", "/v3/urls", httpapitest.Batch(1)).URLs[0].Failed(t, apierror.CodeURLLimit, "5 URLs")
	s.EditAccount(t, "alice", accounts.Change{Plan: new("free")})
	c.Must("POST", "/v3/urls", httpapitest.Batch(3))
	s.EditAccount(t, "alice", accounts.Change{Plan: new("small")})
	for left := 8; left > 4; left-- {
		c.Call("POST", "/v3/urls", httpapitest.Batch(1)).URLs[0].Failed(t, apierror.CodeURLLimit, "5 URLs")
		c.Must("DELETE", "/v3/urls/"+c.Must("GET", "/v3/urls?limit=1", "").URLs[0].Hash, "")
	}
	c.Must("POST", "/v3/urls", httpapitest.Batch(1))
	c.Call("POST", "/v3/urls", httpapitest.Batch(1)).URLs[0].Failed(t, apierror.CodeURLLimit, "5 URLs")
}
