package login

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestLoginLogIsBounded(t *testing.T) {
	t.Parallel()
	l, now := newLoginLog(), time.Date(2026, 5, 14, 12, 0, 0, 0, time.UTC)
	lines := 0
	for i := range 50 * maxLogEntries {
		if _, ok := l.add(loginSource{strconv.Itoa(i), "192.0.2.7"}, now); ok {
			lines++
		}
	}
	if got := lines; got != maxLogEntries {
		t.Errorf("%s is %v; want %v", "lines", got, maxLogEntries)
	}
	if got := len(l.logged); got != maxLogEntries {
		t.Errorf("%s is %v; want %v", "entries", got, maxLogEntries)
	}
	l.add(loginSource{"0", "192.0.2.7"}, now)
	line, ok := l.add(loginSource{"-1", "192.0.2.7"}, now.Add(logInterval))
	if !ok || line.others != 49*maxLogEntries+1 || line.suppressed != 0 {
		t.Errorf("the next line says %+v, %v", line, ok)
	}
	if got := clipName(strings.Repeat("é", 100)); got != strings.Repeat("é", maxLoggedName/2)+"…" {
		t.Errorf("%s is %v; want %v", "name", got, strings.Repeat("é", maxLoggedName/2)+"…")
	}
	if got := clipName("a\xff"); got != "a�" {
		t.Errorf("%s is %v; want %v", "name", got, "a�")
	}
}
