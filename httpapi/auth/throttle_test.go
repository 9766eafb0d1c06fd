package auth

import (
	"strconv"
	"testing"
	"time"
)

func TestLoginsAreBounded(t *testing.T) {
	t.Parallel()
	l, now := newThrottle(), time.Date(2026, 5, 14, 12, 0, 0, 0, time.UTC)
	user := strconv.Itoa
	for i := range 3 * maxNetworks {
		l.fail(user(i), now)
		if len(l.limiters) > maxNetworks {
			t.Fatalf("%d entries", len(l.limiters))
		}
	}
	for range maxFailures {
		if l.fail(user(-1), now) {
			t.Error("throttled too early")
		}
	}
	if !l.fail(user(-1), now) {
		t.Error("not throttled after the free attempts")
	}
	if now = now.Add(failureInterval); l.fail(user(-1), now) || !l.fail(user(-1), now) {
		t.Error("not one more attempt after each pause")
	}
	if l.shrink(now.Add(maxFailures * failureInterval)); len(l.limiters) > 0 {
		t.Errorf("%d entries remain of addresses that have waited long enough", len(l.limiters))
	}
}
