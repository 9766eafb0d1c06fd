package login

import (
	"strings"
	"sync"
	"time"
)

const (
	// logInterval is the least time between two entries for one user name and address.
	logInterval = time.Second
	// maxLogEntries is the most entries within logInterval, for all user names and addresses.
	maxLogEntries = 100
	// maxLoggedName is how many bytes of a user name are logged. No account has a longer name.
	maxLoggedName = 64
)

// loginLog decides which failed logins are logged, so that an attack cannot flood the log. It is
// safe for concurrent use.
type loginLog struct {
	mu     sync.Mutex
	logged map[loginSource]*loginEntry // at most maxLogEntries
	// failures since the last entry, of sources that are not in logged
	others int
}

// loginSource is the user name that a client claimed, and its address.
type loginSource struct{ account, address string }

// loginEntry is an entry of the log.
type loginEntry struct {
	loginSource

	at         time.Time
	suppressed int // failures of the same source since its last entry
	others     int // failures of other sources that were not logged since the last entry
}

func newLoginLog() *loginLog { return &loginLog{logged: make(map[loginSource]*loginEntry)} }

// add counts a failed login. It returns the entry to log, or false if the failure is not logged.
func (l *loginLog) add(source loginSource, now time.Time) (loginEntry, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, known := l.logged[source]
	if known && now.Sub(last.at) < logInterval {
		last.suppressed++
		return loginEntry{}, false
	}
	if !known && len(l.logged) >= maxLogEntries {
		l.evict(now)
	}
	if !known && len(l.logged) >= maxLogEntries {
		l.others++
		return loginEntry{}, false
	}
	if !known {
		// The strings are parts of headers. Without a copy the map would keep whole headers in
		// memory.
		source = loginSource{strings.Clone(source.account), strings.Clone(source.address)}
		last = &loginEntry{}
		l.logged[source] = last
	}
	entry := loginEntry{loginSource: source, at: now, suppressed: last.suppressed, others: l.others}
	last.at, last.suppressed, l.others = now, 0, 0
	return entry, true
}

// evict removes sources whose last entry is at least logInterval old. Their next failure may be
// logged again.
func (l *loginLog) evict(now time.Time) {
	for source, last := range l.logged {
		if now.Sub(last.at) >= logInterval {
			l.others += last.suppressed
			delete(l.logged, source)
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
