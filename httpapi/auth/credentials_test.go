package auth_test

import (
	"encoding/base64"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

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

func TestCredentialsInHeaders(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	alice, bob := s.Client(t, "alice"), s.Client(t, "bob")
	alice.Must("POST", "/v3/urls", httpapitest.Batch(1), alice.ByHeaders)
	httpapitest.Equal(t, "URLs of alice", alice.Must("GET", "/v3/urls", "", alice.ByHeaders).Page.TotalCount, 1)
	httpapitest.Equal(t, "URLs of bob", bob.Must("GET", "/v3/urls", "", bob.ByHeaders).Page.TotalCount, 0)

	without := func(name string) httpapitest.With { return func(r *http.Request) { r.Header.Del(name) } }
	for _, missing := range []string{"X-Tinycc-User", "X-Tinycc-Key"} {
		a := alice.Call("GET", "/v3/account", "", alice.ByHeaders, without(missing))
		a.Is(http.StatusBadRequest, apierror.CodeInvalidKey)
		a.Has("both")
	}
	for _, scheme := range []string{"Bearer abc", "Basic", "Basic !"} { // none are valid credentials of HTTP Basic
		alice.Must("GET", "/v3/account", "", alice.ByHeaders, httpapitest.Header("Authorization", scheme))
	}
	// what pasting adds
	for _, padding := range []string{" ", "\r\n", "\t", "\u00a0", "\u200b", "\ufeff", "\u2060 \u200e"} {
		padded := func(text string) string { return padding + text + padding }
		alice.Must("GET", "/v3/account", "", func(r *http.Request) {
			r.SetBasicAuth(padded(alice.Username), padded(alice.Key))
		})
		alice.Must("GET", "/v3/account", "", alice.ByHeaders, httpapitest.Header("X-Tinycc-User", padded(alice.Username)),
			httpapitest.Header("X-Tinycc-Key", padded(alice.Key)))
	}
	alice.Call("GET", "/v3/account", "", func(r *http.Request) {
		r.SetBasicAuth(alice.Username, alice.Key[:5]+"\u200b"+alice.Key[5:])
	}).Is(http.StatusBadRequest, apierror.CodeInvalidKey)
	s.Deactivate(t, "bob")
	bob.Call("GET", "/v3/account", "", bob.ByHeaders).Is(http.StatusForbidden, apierror.CodeAccessDenied)
}

// TestCredentialsOfHTTPBasicGoBeforeThoseInHeaders checks that HTTP Basic decides if a call has
// both. The headers neither admit nor refuse the call, and no part of one pair is combined with a
// part of the other.
func TestCredentialsOfHTTPBasicGoBeforeThoseInHeaders(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	alice, bob, stranger := s.Client(t, "alice"), s.Client(t, "bob"), s.Stranger(t, "alice")
	alice.Create(`"long_url":"https://example.com/"`)
	both := func(basic, headers *httpapitest.Client) *httpapitest.Answer {
		t.Helper()
		return basic.Call("GET", "/v3/urls", "", headers.ByHeaders, func(r *http.Request) {
			r.SetBasicAuth(basic.Username, basic.Key)
		})
	}
	for _, headers := range []*httpapitest.Client{alice, bob, stranger} {
		a := both(alice, headers)
		a.Is(http.StatusOK, apierror.CodeOK)
		httpapitest.Equal(t, "URLs of alice", a.Page.TotalCount, 1)
		both(stranger, headers).Is(http.StatusBadRequest, apierror.CodeInvalidKey)
	}
	mixed := *bob
	mixed.Key = alice.Key
	both(&mixed, alice).Is(http.StatusBadRequest, apierror.CodeInvalidKey)
	alice.Call("GET", "/v3/urls", "", httpapitest.Header("X-Tinycc-Key", alice.Key), func(r *http.Request) {
		r.Header.Del("X-Tinycc-User")
		r.SetBasicAuth("alice", "")
	}).Is(http.StatusBadRequest, apierror.CodeInvalidKey)
}

// TestUnknownUserNamesAndWrongKeysAreTheSameWork checks that an unknown user name and a wrong key
// take the same queries, whether or not the account is in memory. Otherwise the response time would
// disclose which user names exist.
func TestUnknownUserNamesAndWrongKeysAreTheSameWork(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	alice := s.Client(t, "alice")
	alice.Must("GET", "/v3/account", "")
	work := func(username string) []string {
		s.Queries.Reset("")
		s.Stranger(t, username).Call("GET", "/v3/account", "")
		return s.Queries.Reset(username)
	}
	unknown := work("nobody")
	httpapitest.Equal(t, "queries for an unknown user name", len(unknown), 1)
	remembered := work("alice")
	s.Logins.Missed()
	forgotten := work("alice")
	if !slices.Equal(remembered, unknown) || !slices.Equal(forgotten, unknown) {
		t.Errorf(
			"queries for an unknown user name:\n%v\nwith a wrong key:\n%v\nand if it is not in memory:\n%v",
			unknown, remembered, forgotten,
		)
	}
	s.Queries.Reset("")
	alice.Must("GET", "/v3/tags", "")
	httpapitest.Equal(t, "queries for a correct key", len(s.Queries.Reset("alice")), 0)
}

// TestOddUserNamesAreUnknown checks that invalid user names are refused like unknown ones and do
// not fill the log.
func TestOddUserNamesAreUnknown(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	for _, name := range []string{
		"", "\x00", "a\xff", strings.Repeat("a", 100_000), "'; --", "alice ", "ä", "{a}", `a"b`, "a,b",
	} {
		s.Stranger(t, name).Call("GET", "/v3/account", "").Is(http.StatusBadRequest, apierror.CodeInvalidUsername)
	}
	httpapitest.Equal(t, "long lines", len(s.Log.Longer(1000)), 0)
}

// BenchmarkFailedLogin alternates between logins that fail for different reasons and measures their
// durations. A difference would disclose which user names exist.
func BenchmarkFailedLogin(b *testing.B) {
	s := httpapitest.New(b, func(cfg *httpapi.Config) { cfg.Logger = nil })
	s.Client(b, "alice")
	names := []string{"alice", "malet"}
	took := make(map[string][]time.Duration)
	for b.Loop() {
		rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range names {
			c, began := s.Stranger(b, name), time.Now()
			c.Call("GET", "/v3/account", "")
			took[name] = append(took[name], time.Since(began))
		}
	}
	for _, name := range names {
		slices.Sort(took[name])
		b.ReportMetric(float64(took[name][len(took[name])/2].Nanoseconds())/1e3, name+"-median-µs")
	}
}

func TestAuthentication(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c, gone := s.Client(t, "alice"), s.Client(t, "gone")
	s.Deactivate(t, "gone")
	basic := func(credentials string) httpapitest.With {
		return httpapitest.Header("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(credentials)))
	}
	cases := map[string]struct {
		with   httpapitest.With
		status int
		want   apierror.Code
	}{
		"none":             {func(*http.Request) {}, 400, apierror.CodeInvalidKey},
		"bearer":           {httpapitest.Header("Authorization", "Bearer "+c.Key), 400, apierror.CodeInvalidKey},
		"no base64":        {httpapitest.Header("Authorization", "Basic *"), 400, apierror.CodeInvalidKey},
		"no colon":         {basic("alice"), 400, apierror.CodeInvalidKey},
		"unknown user":     {basic("bob:" + c.Key), 400, apierror.CodeInvalidUsername},
		"other spelling":   {basic("Alice:" + c.Key), 400, apierror.CodeInvalidUsername},
		"empty user":       {basic(":" + c.Key), 400, apierror.CodeInvalidUsername},
		"no text":          {basic("\xff\xfe:" + c.Key), 400, apierror.CodeInvalidUsername},
		"NUL":              {basic("al\x00ice:" + c.Key), 400, apierror.CodeInvalidUsername},
		"empty key":        {basic("alice:"), 400, apierror.CodeInvalidKey},
		"another's key":    {basic("alice:" + gone.Key), 400, apierror.CodeInvalidKey},
		"inactive":         {basic("gone:" + gone.Key), 403, apierror.CodeAccessDenied},
		"inactive, no key": {basic("gone:x"), 400, apierror.CodeInvalidKey},
		"right":            {basic("alice:" + c.Key), 200, apierror.CodeOK},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := httpapitest.Send(t, s.Server, "GET", "/v3/account", "", tc.with)
			a.Is(tc.status, tc.want)
			challenge := a.Header.Get("WWW-Authenticate")
			if (tc.status == 400) != strings.HasPrefix(challenge, "Basic ") {
				t.Errorf("WWW-Authenticate is %q", challenge)
			}
		})
	}
}
