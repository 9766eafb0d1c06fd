package peer

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// throttleBurst is how many events in a row are allowed. After that, one event is allowed in
	// each throttleInterval.
	throttleBurst    = 20
	throttleInterval = time.Second
	// maxNetworks bounds the table. A full table drops half of its networks.
	maxNetworks = 10_000
)

// Throttle limits how often something may happen for one network, such as failed logins that state
// their reason, or sign-ins. It is safe for concurrent use.
type Throttle struct {
	mu       sync.Mutex
	limiters map[string]*rate.Limiter // by network, only of networks with recent events
}

// NewThrottle returns a throttle that has counted nothing yet.
func NewThrottle() *Throttle { return &Throttle{limiters: make(map[string]*rate.Limiter)} }

// Exceeded counts one more event for the network of a client address. It returns true if that is
// one too many.
func (t *Throttle) Exceeded(client string, now time.Time) bool {
	network := NetworkOf(client)
	t.mu.Lock()
	defer t.mu.Unlock()
	limiter, known := t.limiters[network]
	if !known {
		if len(t.limiters) >= maxNetworks {
			t.shrink(now)
		}
		limiter = rate.NewLimiter(rate.Every(throttleInterval), throttleBurst)
		t.limiters[network] = limiter
	}
	return !limiter.AllowN(now, 1)
}

// Full reports whether one more event would be too many. It counts nothing.
func (t *Throttle) Full(client string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	limiter, known := t.limiters[NetworkOf(client)]
	return known && limiter.TokensAt(now) < 1
}

// shrink removes the networks without recent events. Then it removes any networks until half of the
// table is free. It frees as much as half so that scans of the whole table are rare.
func (t *Throttle) shrink(now time.Time) {
	for network, limiter := range t.limiters {
		if limiter.TokensAt(now) >= throttleBurst {
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
