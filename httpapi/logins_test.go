package httpapi

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"linkledger/httpapi/apierror"
)

// stranger returns a client that sends a wrong key for a user name.
func (s *stack) stranger(t testing.TB, username string) *client {
	t.Helper()
	return &client{t: t, handler: s.handler, username: username, key: "lk_wrong"}
}

func forwarded(hops string) with { return header("X-Forwarded-For", hops) }

// TestWrongKeysDoNotLockAccounts checks that a stranger behind the same address locks no account
// out, however many wrong keys they send for it and for others.
func TestWrongKeysDoNotLockAccounts(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	victim, bob := s.client(t, "victim"), s.client(t, "bob")
	proxy := from("192.0.2.7:1", "x")
	stranger := s.stranger(t, "victim")
	var strangers sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for range 4 {
		strangers.Go(func() {
			for n := 0; n < 3*loginsWithReason || ctx.Err() == nil; n++ {
				stranger.call("GET", "/v3/account", "", proxy)
			}
		})
	}
	for range 30 {
		victim.must("GET", "/v3/account", "", proxy)
		bob.must("GET", "/v3/account", "", proxy)
	}
	stop()
	strangers.Wait()
	stranger.call("GET", "/v3/account", "", proxy).is(http.StatusTooManyRequests, apierror.CodeCallLimit)
	s.logins.Missed()
	victim.must("GET", "/v3/account", "", proxy)
}

// TestBadLoginsAreThrottledAcrossUserNames checks that only the first failures of an address
// contain a reason. The later ones contain none, whatever user names the address tries.
func TestBadLoginsAreThrottledAcrossUserNames(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.client(t, "alice")
	withReason, withheld := 0, 0
	for i := range 300 {
		name := "user" + strconv.Itoa(i)
		if i%2 == 0 {
			name = "alice"
		}
		a := s.stranger(t, name).call("GET", "/v3/account", "", from("192.0.2.7:1", "x"))
		switch {
		case a.status == http.StatusTooManyRequests:
			withheld++
			a.is(http.StatusTooManyRequests, apierror.CodeCallLimit)
			equal(t, "Retry-After", a.header.Get("Retry-After"), "1")
		case i%2 == 0:
			withReason++
			a.is(http.StatusBadRequest, apierror.CodeInvalidKey)
		default:
			withReason++
			a.is(http.StatusBadRequest, apierror.CodeInvalidUsername)
		}
	}
	equal(t, "refusals with a reason", withReason, loginsWithReason)
	equal(t, "withheld", withheld, 300-loginsWithReason)
	s.stranger(t, "alice").call("GET", "/v3/account", "", from("192.0.2.8:1", "x")).is(
		http.StatusBadRequest, apierror.CodeInvalidKey,
	)

	s.at(t, "2026-05-14T12:00:01Z")
	s.stranger(t, "alice").call("GET", "/v3/account", "", from("192.0.2.7:1", "x")).is(
		http.StatusBadRequest, apierror.CodeInvalidKey,
	)
	s.stranger(t, "alice").call("GET", "/v3/account", "", from("192.0.2.7:1", "x")).is(
		http.StatusTooManyRequests, apierror.CodeCallLimit,
	)
}

// TestBadLoginsAreThrottledByTheClientsAddress checks that the client's address is taken from the
// headers of trusted proxies only. No client gets more attempts with a header of its own.
func TestBadLoginsAreThrottledByTheClientsAddress(t *testing.T) {
	t.Parallel()
	s := newStack(t, func(cfg *Config) { cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} })
	for name, tc := range map[string]struct {
		tries     func(i int) []with
		throttled bool
	}{
		"one client behind the proxy": {
			func(int) []with { return []with{from("10.0.0.1:1", "x"), forwarded("192.0.2.1")} }, true,
		},
		"clients behind the proxy": {func(i int) []with {
			return []with{from("10.0.0.1:1", "x"), forwarded(fmt.Sprint("198.51.100.", i))}
		}, false},
		"a client that forges what the proxy goes on with": {func(i int) []with {
			return []with{from("10.0.0.1:1", "x"), forwarded(fmt.Sprintf("198.51.100.%d, 192.0.2.2", i))}
		}, true},
		"a client that comes directly": {func(i int) []with {
			return []with{from("192.0.2.3:1", "x"), forwarded(fmt.Sprint("198.51.100.", i))}
		}, true},
		"addresses of one IPv6 network": {func(i int) []with {
			return []with{from(fmt.Sprintf("[2001:db8::%x]:1", i), "x")}
		}, true},
		"IPv6 networks": {func(i int) []with {
			return []with{from(fmt.Sprintf("[2001:db8:0:%x::1]:1", i+1), "x")}
		}, false},
		"IPv4 addresses as IPv6": {func(i int) []with {
			return []with{from(fmt.Sprintf("[::ffff:203.0.113.%d]:1", i), "x")}
		}, false},
	} {
		throttled := false
		for i := range 2 * loginsWithReason {
			a := s.stranger(t, "nobody").call("GET", "/v3/account", "", tc.tries(i)...)
			throttled = throttled || a.status == http.StatusTooManyRequests
		}
		equal(t, name+": throttled", throttled, tc.throttled)
	}
}

// TestUnknownUserNamesAndWrongKeysAreTheSameWork checks that an unknown user name and a wrong key
// take the same queries, whether or not the account is in memory. Otherwise the response time would
// disclose which user names exist.
func TestUnknownUserNamesAndWrongKeysAreTheSameWork(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	alice := s.client(t, "alice")
	alice.must("GET", "/v3/account", "")
	work := func(username string) []string {
		s.queries.reset("")
		s.stranger(t, username).call("GET", "/v3/account", "")
		return s.queries.reset(username)
	}
	unknown := work("nobody")
	equal(t, "queries for an unknown user name", len(unknown), 1)
	remembered := work("alice")
	s.logins.Missed()
	forgotten := work("alice")
	if !slices.Equal(remembered, unknown) || !slices.Equal(forgotten, unknown) {
		t.Errorf(
			"queries for an unknown user name:\n%v\nwith a wrong key:\n%v\nand if it is not in memory:\n%v",
			unknown, remembered, forgotten,
		)
	}
	s.queries.reset("")
	alice.must("GET", "/v3/tags", "")
	equal(t, "queries for a correct key", len(s.queries.reset("alice")), 0)
}

// TestOddUserNamesAreUnknown checks that invalid user names are refused like unknown ones and do
// not fill the log.
func TestOddUserNamesAreUnknown(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	for _, name := range []string{
		"", "\x00", "a\xff", strings.Repeat("a", 100_000), "'; --", "alice ", "ä", "{a}", `a"b`, "a,b",
	} {
		s.stranger(t, name).call("GET", "/v3/account", "").is(http.StatusBadRequest, apierror.CodeInvalidUsername)
	}
	equal(t, "long lines", len(s.log.longer(1000)), 0)
}

// TestBadLoginsAreCountedAndLogged checks that each failure is counted, and that one a second is
// logged for a user name and an address.
func TestBadLoginsAreCountedAndLogged(t *testing.T) {
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
	alice, bob := s.client(t, "alice"), s.client(t, "bob")
	s.deactivate(t, "bob")
	here := from("192.0.2.7:1", "x")
	for range 30 {
		s.stranger(t, "alice").call("GET", "/v3/account", "", here)
	}
	lines := s.log.matching("login refused", "account=alice", "address=192.0.2.7", "reason=wrong_key", "suppressed=0")
	equal(t, "lines of 30 failures in a second", len(lines), 1)
	s.at(t, "2026-05-14T12:00:01Z")
	s.stranger(t, "alice").call("GET", "/v3/account", "", here)
	equal(t, "lines of the next second", len(s.log.matching("login refused", "account=alice", "suppressed=29")), 1)
	s.stranger(t, "nobody").call("GET", "/v3/account", "", from("192.0.2.8:1", "x"))
	equal(
		t, "lines of another",
		len(s.log.matching("login refused", "account=nobody", "address=192.0.2.8", "reason=unknown_user")), 1,
	)
	bob.call("GET", "/v3/account", "", here).is(http.StatusForbidden, apierror.CodeAccessDenied)
	equal(t, "lines of an inactive account", len(s.log.matching("login refused", "account=bob", "reason=inactive")), 1)
	alice.call("GET", "/v3/account", "", func(r *http.Request) { r.Header.Del("Authorization") }).is(
		http.StatusBadRequest, apierror.CodeInvalidKey,
	)
	alice.must("GET", "/v3/account", "", here)

	mu.Lock()
	defer mu.Unlock()
	for reason, want := range map[string]int{
		"wrong_key": loginsWithReason + 1, "throttled": 30 - loginsWithReason, "unknown_user": 1, "inactive": 1,
		"no_credentials": 1,
	} {
		equal(t, reason, refused[reason], want)
	}
	equal(t, "reasons", len(refused), 5)
}

// BenchmarkFailedLogin alternates between logins that fail for different reasons and measures their
// durations. A difference would disclose which user names exist.
func BenchmarkFailedLogin(b *testing.B) {
	s := newStack(b, func(cfg *Config) { cfg.Logger = nil })
	s.client(b, "alice")
	names := []string{"alice", "malet"}
	took := make(map[string][]time.Duration)
	for b.Loop() {
		rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range names {
			c, began := s.stranger(b, name), time.Now()
			c.call("GET", "/v3/account", "")
			took[name] = append(took[name], time.Since(began))
		}
	}
	for _, name := range names {
		slices.Sort(took[name])
		b.ReportMetric(float64(took[name][len(took[name])/2].Nanoseconds())/1e3, name+"-median-µs")
	}
}
