package auth

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// maxFailures is how many failed logins in a row state their reason. After them, one in each
	// failureInterval does.
	maxFailures     = 20
	failureInterval = time.Second
	// maxNetworks bounds the table. A full table drops half of its networks.
	maxNetworks = 10_000
	// networkBits is the length of the IPv6 prefix whose addresses are taken to have one owner.
	networkBits = 64
)

// throttle limits how often failed logins from one network state their reason, for all user names
// together. It is consulted only for failures, so it cannot lock out a client with the right key.
// It is safe for concurrent use.
type throttle struct {
	mu       sync.Mutex
	limiters map[string]*rate.Limiter // by network, only of networks with recent failures
}

func newThrottle() *throttle { return &throttle{limiters: make(map[string]*rate.Limiter)} }

// fail counts a failed login. throttled is true if the response MUST NOT state the reason.
func (t *throttle) fail(network string, now time.Time) (throttled bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	limiter, known := t.limiters[network]
	if !known {
		if len(t.limiters) >= maxNetworks {
			t.shrink(now)
		}
		limiter = rate.NewLimiter(rate.Every(failureInterval), maxFailures)
		t.limiters[network] = limiter
	}
	return !limiter.AllowN(now, 1)
}

// shrink removes networks whose limiters have recovered, and then others until half of the table is
// free. Half of it, because a scan of the whole table has to be rare.
func (t *throttle) shrink(now time.Time) {
	for network, limiter := range t.limiters {
		if limiter.TokensAt(now) >= maxFailures {
			delete(t.limiters, network)
		}
	}
	for network := range t.limiters {
		if len(t.limiters) <= maxNetworks/2 {
			return
		}
		delete(t.limiters, network)
	}
}

// networkOf returns what is taken to have one owner: an IPv4 address, or the /64 prefix of an IPv6
// address.
func networkOf(address string) string {
	parsed, err := netip.ParseAddr(address)
	if err != nil || parsed.Is4() {
		return address
	}
	return netip.PrefixFrom(parsed, networkBits).Masked().String()
}
