package auth

import (
	"strings"
	"sync"
	"time"
)

const (
	// logInterval is the least time between two entries for one user name and address.
	loginLogPause = time.Second
	// maxLogEntries is the most entries within logInterval, for all user names and addresses.
	maxLoginLines = 100
	// maxLoggedName is how many bytes of a user name are logged. No account has a longer name.
	maxLoggedName = 64
)

// loginLog decides which failed logins are logged, so that an attack cannot flood the log. It is safe
// for concurrent use.
type loginLog struct {
	mu     sync.Mutex
	logged map[loginOf]*loginLine // at most maxLoginLines
	others int                    // failures since the last entry whose source is not in logged
}

// loginSource is the user name that a client claimed, and its address.
type loginOf struct{ account, address string }

// loginEntry is an entry of the log.
type loginLine struct {
	loginOf

	at         time.Time
	suppressed int // failures of the same source since its last entry
	others     int // failures of other sources that were not logged since the last entry
}

func newLoginLog() *loginLog { return &loginLog{logged: make(map[loginOf]*loginLine)} }

// add counts a failed login. It returns the entry to log, or false if the failure is not logged.
func (l *loginLog) next(of loginOf, now time.Time) (loginLine, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, known := l.logged[of]
	if known && now.Sub(last.at) < loginLogPause {
		last.suppressed++
		return loginLine{}, false
	}
	if !known && len(l.logged) >= maxLoginLines {
		l.forget(now)
	}
	if !known && len(l.logged) >= maxLoginLines {
		l.others++
		return loginLine{}, false
	}
	if !known {
		// The strings are parts of headers. Without a copy the map would keep whole headers in memory.
		of = loginOf{strings.Clone(of.account), strings.Clone(of.address)}
		last = &loginLine{}
		l.logged[of] = last
	}
	entry := loginLine{loginOf: of, at: now, suppressed: last.suppressed, others: l.others}
	last.at, last.suppressed, l.others = now, 0, 0
	return entry, true
}

// evict removes sources that may be logged again.
func (l *loginLog) forget(now time.Time) {
	for of, last := range l.logged {
		if now.Sub(last.at) >= loginLogPause {
			l.others += last.suppressed
			delete(l.logged, of)
		}
	}
}

// clipName returns the part of a user name that is logged.
func clipName(username string) string {
	if len(username) > maxLoggedName {
		username = username[:maxLoggedName] + "…"
	}
	return strings.ToValidUTF8(username, "�")
}
