package auth

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// badLogins is how many bad logins in a row are answered with their reason; then there is one
	// per badLoginPause.
	badLogins     = 20
	badLoginPause = time.Second
	// maxLogins bounds the table. A full one forgets half of the networks that it slows down.
	maxLogins = 10_000
	// hostBits of an IPv6 address belong to its owner, who has all addresses of the network.
	hostBits = 64
)

// logins slows down networks that send bad credentials again and again, for whichever user names.
// It decides about failures alone, so it keeps no caller with the right key out. It is safe for
// concurrent use.
type logins struct {
	mu  sync.Mutex
	bad map[string]*rate.Limiter // by network; of those that sent bad credentials lately
}

func newLogins() *logins { return &logins{bad: make(map[string]*rate.Limiter)} }

// failed notes bad credentials. It is true where there were too many for the answer to say what is
// wrong with them.
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

// shrink forgets those who have waited long enough, and others until half of the table is free: the
// next time is far off.
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

// network is what one owner is taken to have: an IPv4 address, or the network of an IPv6 address.
func network(address string) string {
	parsed, err := netip.ParseAddr(address)
	if err != nil || parsed.Is4() {
		return address
	}
	return netip.PrefixFrom(parsed, hostBits).Masked().String()
}
