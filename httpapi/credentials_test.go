package httpapi_test

import (
	"net/http"
	"slices"
	"sync"
	"testing"

	"linkledger/httpapi"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
)

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

// TestCredentialsInHeadersAreThrottledLikeThoseOfHTTPBasic checks that an address has the same
// number of attempts however it distributes them between the two ways, and that both ways take the
// same work.
func TestCredentialsInHeadersAreThrottledLikeThoseOfHTTPBasic(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	refused := make(map[string]int)
	s := httpapitest.New(t, func(cfg *httpapi.Config) {
		cfg.LoginRefused = func(reason string) {
			mu.Lock()
			defer mu.Unlock()
			refused[reason]++
		}
	})
	alice, here := s.Client(t, "alice"), httpapitest.From("192.0.2.7:1", "x")
	work := func(c *httpapitest.Client, ways ...httpapitest.With) []string {
		s.Queries.Reset("")
		c.Call("GET", "/v3/account", "", append(ways, httpapitest.From("192.0.2.8:1", "x"))...)
		return s.Queries.Reset(c.Username)
	}
	for _, name := range []string{"alice", "nobody"} {
		stranger := s.Stranger(t, name)
		if basic, headers := work(stranger), work(stranger, stranger.ByHeaders); !slices.Equal(basic, headers) ||
			len(headers) != 1 {
			t.Errorf("%s: queries with HTTP Basic:\n%v\nwith headers:\n%v", name, basic, headers)
		}
	}
	withReason := 0
	for i := range 3 * httpapitest.LoginsWithReason {
		stranger := s.Stranger(t, "alice")
		ways := []httpapitest.With{here}
		if i%2 == 0 {
			ways = append(ways, stranger.ByHeaders)
		}
		if stranger.Call("GET", "/v3/account", "", ways...).Status == http.StatusBadRequest {
			withReason++
		}
	}
	httpapitest.Equal(t, "refusals with a reason", withReason, httpapitest.LoginsWithReason)
	httpapitest.Equal(t, "lines", len(s.Log.Matching("login refused", "account=alice", "address=192.0.2.7", "reason=wrong_key")), 1)
	httpapitest.Equal(t, "lines with the key", len(s.Log.Matching("lk_wrong")), 0)
	alice.Must("GET", "/v3/account", "", here, alice.ByHeaders)
	mu.Lock()
	defer mu.Unlock()
	httpapitest.Equal(t, "throttled", refused["throttled"], 2*httpapitest.LoginsWithReason)
}
