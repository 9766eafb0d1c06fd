package login_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"testing"

	"linkledger/httpapi"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
)

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

// TestWrongKeysDoNotLockAccounts checks that a stranger behind the same address locks no account
// out, however many wrong keys they send for it and for others.
func TestWrongKeysDoNotLockAccounts(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	victim, bob := s.Client(t, "victim"), s.Client(t, "bob")
	proxy := httpapitest.From("192.0.2.7:1", "x")
	stranger := s.Stranger(t, "victim")
	var strangers sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for range 4 {
		strangers.Go(func() {
			for n := 0; n < 3*httpapitest.LoginsWithReason || ctx.Err() == nil; n++ {
				stranger.Call("GET", "/v3/account", "", proxy)
			}
		})
	}
	for range 30 {
		victim.Must("GET", "/v3/account", "", proxy)
		bob.Must("GET", "/v3/account", "", proxy)
	}
	stop()
	strangers.Wait()
	stranger.Call("GET", "/v3/account", "", proxy).Is(http.StatusTooManyRequests, apierror.CodeCallLimit)
	s.Logins.Missed()
	victim.Must("GET", "/v3/account", "", proxy)
}

// TestBadLoginsAreThrottledAcrossUserNames checks that only the first failures of an address contain a reason. The
// later ones contain none, with any user name.
func TestBadLoginsAreThrottledAcrossUserNames(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	s.Client(t, "alice")
	withReason, withheld := 0, 0
	for i := range 300 {
		name := "user" + strconv.Itoa(i)
		if i%2 == 0 {
			name = "alice"
		}
		a := s.Stranger(t, name).Call("GET", "/v3/account", "", httpapitest.From("192.0.2.7:1", "x"))
		switch {
		case a.Status == http.StatusTooManyRequests:
			withheld++
			a.Is(http.StatusTooManyRequests, apierror.CodeCallLimit)
			httpapitest.Equal(t, "Retry-After", a.Header.Get("Retry-After"), "1")
		case i%2 == 0:
			withReason++
			a.Is(http.StatusBadRequest, apierror.CodeInvalidKey)
		default:
			withReason++
			a.Is(http.StatusBadRequest, apierror.CodeInvalidUsername)
		}
	}
	httpapitest.Equal(t, "refusals with a reason", withReason, httpapitest.LoginsWithReason)
	httpapitest.Equal(t, "withheld", withheld, 300-httpapitest.LoginsWithReason)
	s.Stranger(t, "alice").Call("GET", "/v3/account", "", httpapitest.From("192.0.2.8:1", "x")).Is(
		http.StatusBadRequest, apierror.CodeInvalidKey,
	)

	s.SetTime(t, "2026-05-14T12:00:01Z")
	s.Stranger(t, "alice").Call("GET", "/v3/account", "", httpapitest.From("192.0.2.7:1", "x")).Is(
		http.StatusBadRequest, apierror.CodeInvalidKey,
	)
	s.Stranger(t, "alice").Call("GET", "/v3/account", "", httpapitest.From("192.0.2.7:1", "x")).Is(
		http.StatusTooManyRequests, apierror.CodeCallLimit,
	)
}

// TestBadLoginsAreThrottledByTheClientsAddress checks that the client's address is taken from the
// headers of trusted proxies only. No client gets more attempts with a header of its own.
func TestBadLoginsAreThrottledByTheClientsAddress(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t, func(cfg *httpapi.Config) { cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} })
	for name, tc := range map[string]struct {
		tries     func(i int) []httpapitest.With
		throttled bool
	}{
		"one client behind the proxy": {
			func(int) []httpapitest.With {
				return []httpapitest.With{httpapitest.From("10.0.0.1:1", "x"), httpapitest.Forwarded("192.0.2.1")}
			}, true,
		},
		"clients behind the proxy": {func(i int) []httpapitest.With {
			return []httpapitest.With{httpapitest.From("10.0.0.1:1", "x"), httpapitest.Forwarded(fmt.Sprint("198.51.100.", i))}
		}, false},
		"a client that forges what the proxy goes on with": {func(i int) []httpapitest.With {
			return []httpapitest.With{httpapitest.From("10.0.0.1:1", "x"), httpapitest.Forwarded(fmt.Sprintf("198.51.100.%d, 192.0.2.2", i))}
		}, true},
		"a client that comes directly": {func(i int) []httpapitest.With {
			return []httpapitest.With{httpapitest.From("192.0.2.3:1", "x"), httpapitest.Forwarded(fmt.Sprint("198.51.100.", i))}
		}, true},
		"addresses of one IPv6 network": {func(i int) []httpapitest.With {
			return []httpapitest.With{httpapitest.From(fmt.Sprintf("[2001:db8::%x]:1", i), "x")}
		}, true},
		"IPv6 networks": {func(i int) []httpapitest.With {
			return []httpapitest.With{httpapitest.From(fmt.Sprintf("[2001:db8:0:%x::1]:1", i+1), "x")}
		}, false},
		"IPv4 addresses as IPv6": {func(i int) []httpapitest.With {
			return []httpapitest.With{httpapitest.From(fmt.Sprintf("[::ffff:203.0.113.%d]:1", i), "x")}
		}, false},
	} {
		throttled := false
		for i := range 2 * httpapitest.LoginsWithReason {
			a := s.Stranger(t, "nobody").Call("GET", "/v3/account", "", tc.tries(i)...)
			throttled = throttled || a.Status == http.StatusTooManyRequests
		}
		httpapitest.Equal(t, name+": throttled", throttled, tc.throttled)
	}
}

// TestBadLoginsAreCountedAndLogged checks that each failure is counted, and that one a second is
// logged for a user name and an address.
func TestBadLoginsAreCountedAndLogged(t *testing.T) {
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
	alice, bob := s.Client(t, "alice"), s.Client(t, "bob")
	s.Deactivate(t, "bob")
	here := httpapitest.From("192.0.2.7:1", "x")
	for range 30 {
		s.Stranger(t, "alice").Call("GET", "/v3/account", "", here)
	}
	lines := s.Log.Matching("login refused", "account=alice", "address=192.0.2.7", "reason=wrong_key", "suppressed=0")
	httpapitest.Equal(t, "lines of 30 failures in a second", len(lines), 1)
	s.SetTime(t, "2026-05-14T12:00:01Z")
	s.Stranger(t, "alice").Call("GET", "/v3/account", "", here)
	httpapitest.Equal(t, "lines of the next second", len(s.Log.Matching("login refused", "account=alice", "suppressed=29")), 1)
	s.Stranger(t, "nobody").Call("GET", "/v3/account", "", httpapitest.From("192.0.2.8:1", "x"))
	httpapitest.Equal(
		t, "lines of another",
		len(s.Log.Matching("login refused", "account=nobody", "address=192.0.2.8", "reason=unknown_user")), 1,
	)
	bob.Call("GET", "/v3/account", "", here).Is(http.StatusForbidden, apierror.CodeAccessDenied)
	httpapitest.Equal(t, "lines of an inactive account", len(s.Log.Matching("login refused", "account=bob", "reason=inactive")), 1)
	alice.Call("GET", "/v3/account", "", func(r *http.Request) { r.Header.Del("Authorization") }).Is(
		http.StatusBadRequest, apierror.CodeInvalidKey,
	)
	alice.Must("GET", "/v3/account", "", here)

	mu.Lock()
	defer mu.Unlock()
	for reason, want := range map[string]int{
		"wrong_key": httpapitest.LoginsWithReason + 1, "throttled": 30 - httpapitest.LoginsWithReason, "unknown_user": 1, "inactive": 1,
		"no_credentials": 1,
	} {
		httpapitest.Equal(t, reason, refused[reason], want)
	}
	httpapitest.Equal(t, "reasons", len(refused), 5)
}
