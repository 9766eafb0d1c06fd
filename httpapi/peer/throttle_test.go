package peer

import (
	"strconv"
	"testing"
	"time"
)

func TestLoginsAreBounded(t *testing.T) {
	t.Parallel()
	l, now := NewThrottle(), time.Date(2026, 5, 14, 12, 0, 0, 0, time.UTC)
	user := strconv.Itoa
	for i := range 3 * maxNetworks {
		l.Exceeded(user(i), now)
		if len(l.limiters) > maxNetworks {
			t.Fatalf("%d entries", len(l.limiters))
		}
	}
	for range throttleBurst {
		if l.Exceeded(user(-1), now) {
			t.Error("throttled too early")
		}
	}
	if !l.Exceeded(user(-1), now) {
		t.Error("not throttled after the free attempts")
	}
	if now = now.Add(throttleInterval); l.Exceeded(user(-1), now) || !l.Exceeded(user(-1), now) {
		t.Error("not one more attempt after each pause")
	}
	if l.shrink(now.Add(throttleBurst * throttleInterval)); len(l.limiters) > 0 {
		t.Errorf("%d entries remain of addresses that have waited long enough", len(l.limiters))
	}
}
