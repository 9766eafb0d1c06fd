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
	badLogins     = 20
	badLoginPause = time.Second
	// maxNetworks bounds the table. A full table drops half of its networks.
	maxLogins = 10_000
	// networkBits is the length of the IPv6 prefix whose addresses are taken to have one owner.
	hostBits = 64
)

// throttle limits how often failed logins from one network state their reason, for all user names
// together. It is consulted only for failures, so it cannot lock out a client with the right key. It
// is safe for concurrent use.
type logins struct {
	mu  sync.Mutex
	bad map[string]*rate.Limiter // by network, only of networks with recent failures
}

func newLogins() *logins { return &logins{bad: make(map[string]*rate.Limiter)} }

// fail counts a failed login. throttled is true if the response MUST NOT state the reason.
func (l *logins) failed(from string, now time.Time) (throttled bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	limiter, known := l.bad[from]
	if !known {
		if len(l.bad) >= maxLogins {
			l.shrink(now)
		}
		limiter = rate.NewLimiter(rate.Every(badLoginPause), badLogins)
		l.bad[from] = limiter
	}
	return !limiter.AllowN(now, 1)
}

// shrink removes networks whose limiters have recovered, and then others until half of the table is
// free. Half of it, because a scan of the whole table has to be rare.
func (l *logins) shrink(now time.Time) {
	for from, limiter := range l.bad {
		if limiter.TokensAt(now) >= badLogins {
			delete(l.bad, from)
		}
	}
	for from := range l.bad {
		if len(l.bad) <= maxLogins/2 {
			return
		}
		delete(l.bad, from)
	}
}

// network returns what is taken to have one owner: an IPv4 address, or the /64 prefix of an IPv6
// address.
func network(address string) string {
	parsed, err := netip.ParseAddr(address)
	if err != nil || parsed.Is4() {
		return address
	}
	return netip.PrefixFrom(parsed, hostBits).Masked().String()
}
