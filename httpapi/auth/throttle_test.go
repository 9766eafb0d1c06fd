package auth

import (
	"strconv"
	"testing"
	"time"
)

func TestLoginsAreBounded(t *testing.T) {
	t.Parallel()
	l, now := newLogins(), time.Date(2026, 5, 14, 12, 0, 0, 0, time.UTC)
	user := strconv.Itoa
	for i := range 3 * maxLogins {
		l.failed(user(i), now)
		if len(l.bad) > maxLogins {
			t.Fatalf("%d entries", len(l.bad))
		}
	}
	for range badLogins {
		if l.failed(user(-1), now) {
			t.Error("throttled too early")
		}
	}
	if !l.failed(user(-1), now) {
		t.Error("not throttled")
	}
	if now = now.Add(badLoginPause); l.failed(user(-1), now) || !l.failed(user(-1), now) {
		t.Error("not one more for each pause")
	}
	if l.shrink(now.Add(badLogins * badLoginPause)); len(l.bad) > 0 {
		t.Errorf("%d entries of those who have waited long enough are left", len(l.bad))
	}
}
