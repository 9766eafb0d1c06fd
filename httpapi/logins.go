package httpapi

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// badLogins is how many bad logins in a row are answered for what they are; then there is one per badLoginPause.
	badLogins     = 20
	badLoginPause = time.Second
	// maxLogins bounds the table. A full one forgets whom it slows down sooner than it grows.
	maxLogins = 10_000
)

// logins slows down whoever sends bad credentials again and again. It tells callers apart by address and user name, so
// that a wrong key keeps none of the others out who come through the same proxy. It is safe for concurrent use.
type logins struct {
	mu  sync.Mutex
	bad map[string]*rate.Limiter // by pseudonym of address and user name; of those who sent bad credentials lately
}

func newLogins() *logins { return &logins{bad: make(map[string]*rate.Limiter)} }

// allowed tells whether credentials may be tried now.
func (l *logins) allowed(from string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	limiter, known := l.bad[from]
	return !known || limiter.TokensAt(now) >= 1
}

// failed notes bad credentials.
func (l *logins) failed(from string, now time.Time) {
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
	limiter.AllowN(now, 1)
}

// shrink forgets those who have waited long enough, and anybody until half of the table is free: the next one is far off.
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
