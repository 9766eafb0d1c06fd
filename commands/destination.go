package commands

import (
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	minLongURL = 4    // code points
	maxLongURL = 2048 // code points
)

// checkLongURL refuses destinations that are no absolute http or https URL, and those that are not allowed. Browsers get
// the URL as it is, so its host is what they make of it.
func (h *Handler) checkLongURL(r Request, long string) error {
	if n := utf8.RuneCountInString(long); n < minLongURL || n > maxLongURL {
		return refuse(URLNotAllowed, "The long URL must have %d to %d characters, it has %d", minLongURL, maxLongURL, n)
	}
	if !utf8.ValidString(long) || strings.ContainsFunc(long, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }) {
		return refuse(InvalidURL, "The long URL must not contain spaces or control characters, percent-encode them")
	}
	parsed, err := url.Parse(long)
	if err != nil {
		return refuse(InvalidURL, "The long URL cannot be read as a URL")
	}
	if scheme := strings.ToLower(parsed.Scheme); scheme != "http" && scheme != "https" {
		return refuse(InvalidURL, "The long URL must begin with http:// or https://")
	}
	if parsed.Hostname() == "" {
		return refuse(InvalidURL, "The long URL must name a host")
	}
	if parsed.User != nil {
		return refuse(InvalidURL, "The long URL must not carry a user name or password")
	}
	destination, err := readSite(long)
	if err != nil {
		return refuse(InvalidURL, "The host of the long URL cannot be used: %s", err)
	}
	if short := destination.shortHost(); short == r.ShortHost || slices.Contains(h.cfg.ShortHosts, short) {
		return refuse(URLNotAllowed, "The long URL points back to this service")
	}
	if h.cfg.BlockedHosts != nil && h.cfg.BlockedHosts(destination.host) {
		return refuse(URLNotAllowed, "The host of the long URL is blocked here")
	}
	return nil
}

// checkDate refuses what is no calendar date in the form YYYY-MM-DD. The empty string is no date and is accepted.
func checkDate(date string) error {
	if date == "" {
		return nil
	}
	if parsed, err := time.Parse(time.DateOnly, date); err != nil || parsed.Year() < 1 { // PostgreSQL has no year 0
		return refuse(InvalidDate, "The expiration date must be a calendar date in the form YYYY-MM-DD")
	}
	return nil
}

func checkMaxClicks(n int64) error {
	if n < 0 {
		return refuse(InvalidValue, "max_clicks must not be negative; 0 means no limit")
	}
	return nil
}

// trimNote keeps the first code points of a note.
func (h *Handler) trimNote(note string) string {
	note = strings.ReplaceAll(strings.ToValidUTF8(note, "\uFFFD"), "\x00", "") // PostgreSQL has no NUL
	n := 0
	for i := range note {
		if n == h.cfg.NoteLength {
			return note[:i]
		}
		n++
	}
	return note
}
