package httpapi

import (
	"net/http"
	"slices"
	"sync"
	"testing"

	"linkledger/httpapi/apierror"
)

// byHeaders sends the client's credentials in their own headers instead of HTTP Basic.
func (c *client) byHeaders(r *http.Request) {
	r.Header.Del("Authorization")
	r.Header.Set("X-Tinycc-User", c.username)
	r.Header.Set("X-Tinycc-Key", c.key)
}

func TestCredentialsInHeaders(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	alice, bob := s.client(t, "alice"), s.client(t, "bob")
	alice.must("POST", "/v3/urls", batch(1), alice.byHeaders)
	equal(t, "URLs of alice", alice.must("GET", "/v3/urls", "", alice.byHeaders).Page.TotalCount, 1)
	equal(t, "URLs of bob", bob.must("GET", "/v3/urls", "", bob.byHeaders).Page.TotalCount, 0)

	without := func(name string) with { return func(r *http.Request) { r.Header.Del(name) } }
	for _, missing := range []string{"X-Tinycc-User", "X-Tinycc-Key"} {
		a := alice.call("GET", "/v3/account", "", alice.byHeaders, without(missing))
		a.is(http.StatusBadRequest, apierror.CodeInvalidKey)
		a.has("both")
	}
	for _, scheme := range []string{"Bearer abc", "Basic", "Basic !"} { // none are valid credentials of HTTP Basic
		alice.must("GET", "/v3/account", "", alice.byHeaders, header("Authorization", scheme))
	}
	// what pasting adds
	for _, padding := range []string{" ", "\r\n", "\t", "\u00a0", "\u200b", "\ufeff", "\u2060 \u200e"} {
		padded := func(text string) string { return padding + text + padding }
		alice.must("GET", "/v3/account", "", func(r *http.Request) {
			r.SetBasicAuth(padded(alice.username), padded(alice.key))
		})
		alice.must("GET", "/v3/account", "", alice.byHeaders, header("X-Tinycc-User", padded(alice.username)),
			header("X-Tinycc-Key", padded(alice.key)))
	}
	alice.call("GET", "/v3/account", "", func(r *http.Request) {
		r.SetBasicAuth(alice.username, alice.key[:5]+"\u200b"+alice.key[5:])
	}).is(http.StatusBadRequest, apierror.CodeInvalidKey)
	s.deactivate(t, "bob")
	bob.call("GET", "/v3/account", "", bob.byHeaders).is(http.StatusForbidden, apierror.CodeAccessDenied)
}

// TestCredentialsOfHTTPBasicGoBeforeThoseInHeaders checks that HTTP Basic decides if a call has
// both. The headers neither admit nor refuse the call, and no part of one pair is combined with a
// part of the other.
func TestCredentialsOfHTTPBasicGoBeforeThoseInHeaders(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	alice, bob, stranger := s.client(t, "alice"), s.client(t, "bob"), s.stranger(t, "alice")
	alice.create(`"long_url":"https://example.com/"`)
	both := func(basic, headers *client) *answer {
		t.Helper()
		return basic.call("GET", "/v3/urls", "", headers.byHeaders, func(r *http.Request) {
			r.SetBasicAuth(basic.username, basic.key)
		})
	}
	for _, headers := range []*client{alice, bob, stranger} {
		a := both(alice, headers)
		a.is(http.StatusOK, apierror.CodeOK)
		equal(t, "URLs of alice", a.Page.TotalCount, 1)
		both(stranger, headers).is(http.StatusBadRequest, apierror.CodeInvalidKey)
	}
	mixed := *bob
	mixed.key = alice.key
	both(&mixed, alice).is(http.StatusBadRequest, apierror.CodeInvalidKey)
	alice.call("GET", "/v3/urls", "", header("X-Tinycc-Key", alice.key), func(r *http.Request) {
		r.Header.Del("X-Tinycc-User")
		r.SetBasicAuth("alice", "")
	}).is(http.StatusBadRequest, apierror.CodeInvalidKey)
}

// TestCredentialsInHeadersAreThrottledLikeThoseOfHTTPBasic checks that an address has the same
// number of attempts however it distributes them between the two ways, and that both ways take the
// same work.
func TestCredentialsInHeadersAreThrottledLikeThoseOfHTTPBasic(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	refused := make(map[string]int)
	s := newStack(t, func(cfg *Config) {
		cfg.LoginRefused = func(reason string) {
			mu.Lock()
			defer mu.Unlock()
			refused[reason]++
		}
	})
	alice, here := s.client(t, "alice"), from("192.0.2.7:1", "x")
	work := func(c *client, ways ...with) []string {
		s.queries.reset("")
		c.call("GET", "/v3/account", "", append(ways, from("192.0.2.8:1", "x"))...)
		return s.queries.reset(c.username)
	}
	for _, name := range []string{"alice", "nobody"} {
		stranger := s.stranger(t, name)
		if basic, headers := work(stranger), work(stranger, stranger.byHeaders); !slices.Equal(basic, headers) ||
			len(headers) != 1 {
			t.Errorf("%s: queries with HTTP Basic:\n%v\nwith headers:\n%v", name, basic, headers)
		}
	}
	withReason := 0
	for i := range 3 * loginsWithReason {
		stranger := s.stranger(t, "alice")
		ways := []with{here}
		if i%2 == 0 {
			ways = append(ways, stranger.byHeaders)
		}
		if stranger.call("GET", "/v3/account", "", ways...).status == http.StatusBadRequest {
			withReason++
		}
	}
	equal(t, "refusals with a reason", withReason, loginsWithReason)
	equal(t, "lines", len(s.log.matching("login refused", "account=alice", "address=192.0.2.7", "reason=wrong_key")), 1)
	equal(t, "lines with the key", len(s.log.matching("lk_wrong")), 0)
	alice.must("GET", "/v3/account", "", here, alice.byHeaders)
	mu.Lock()
	defer mu.Unlock()
	equal(t, "throttled", refused["throttled"], 2*loginsWithReason)
}
