package auth

import (
	"strings"
	"sync"
	"time"
)

const (
	// loginLogPause is how long a user name and an address are not logged again.
	loginLogPause = time.Second
	// maxLoginLines is how many lines there are within loginLogPause at most, of all user names and
	// addresses.
	maxLoginLines = 100
	// maxLoggedName is how much of a user name is logged, in bytes; no account has a longer one.
	maxLoggedName = 64
)

// loginLog decides which of the logins that fail are logged. It is safe for concurrent use.
type loginLog struct {
	mu     sync.Mutex
	logged map[loginOf]*loginLine // at most maxLoginLines
	others int                    // failures since the last line that belong to no entry
}

// loginOf says whose login it was said to be, and from where.
type loginOf struct{ account, address string }

// loginLine is a line of the log.
type loginLine struct {
	loginOf

	at         time.Time
	suppressed int // failures of the same since its last line
	others     int // failures of others that got no line, since any last line
}

func newLoginLog() *loginLog { return &loginLog{logged: make(map[loginOf]*loginLine)} }

// next notes a failure. It is false where no line is due.
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
		// parts of headers, which would be kept with them
		of = loginOf{strings.Clone(of.account), strings.Clone(of.address)}
		last = &loginLine{}
		l.logged[of] = last
	}
	line := loginLine{loginOf: of, at: now, suppressed: last.suppressed, others: l.others}
	last.at, last.suppressed, l.others = now, 0, 0
	return line, true
}

// forget drops what may be logged again.
func (l *loginLog) forget(now time.Time) {
	for of, last := range l.logged {
		if now.Sub(last.at) >= loginLogPause {
			l.others += last.suppressed
			delete(l.logged, of)
		}
	}
}

// clipName returns as much of a user name as is logged.
func clipName(username string) string {
	if len(username) > maxLoggedName {
		username = username[:maxLoggedName] + "…"
	}
	return strings.ToValidUTF8(username, "�")
}
