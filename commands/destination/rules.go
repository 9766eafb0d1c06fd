// Package destination decides where links may lead to: the form of a URL, blocked hosts, and no
// short link. It never connects to a destination.
package destination

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"linkledger/commands/domain"
)

const (
	minLongURL = 4    // code points
	maxLongURL = 2048 // code points
)

// Rules decide which URLs links may lead to.
type Rules struct {
	// ShortHosts are the hosts of short links, in the form of ShortHost. A link to one of them
	// would be a loop.
	ShortHosts []string
	// Blocked reports whether no link may lead to a host. The host is in the form of ShortHost,
	// without a port. If nil, no host is blocked.
	Blocked func(host string) bool
}

// Check refuses destinations that are not absolute http or https URLs with InvalidURL, and those
// that are not allowed with URLNotAllowed. Browsers get the URL unchanged, so Check reads its host
// as browsers do. shortHost is a further one of ShortHosts; empty: none.
func (r Rules) Check(long, shortHost string) error {
	if n := utf8.RuneCountInString(long); n < minLongURL || n > maxLongURL {
		return domain.Refuse(
			domain.URLNotAllowed, "The long URL must have %d to %d characters, it has %d",
			minLongURL, maxLongURL, n,
		)
	}
	if !utf8.ValidString(long) ||
		strings.ContainsFunc(
			long, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) },
		) {
		return domain.Refuse(
			domain.InvalidURL,
			"The long URL must not contain spaces or control characters, percent-encode them",
		)
	}
	parsed, err := url.Parse(long)
	if err != nil {
		return domain.Refuse(domain.InvalidURL, "The long URL cannot be read as a URL")
	}
	if scheme := strings.ToLower(parsed.Scheme); scheme != "http" && scheme != "https" {
		return domain.Refuse(domain.InvalidURL, "The long URL must begin with http:// or https://")
	}
	if parsed.Hostname() == "" {
		return domain.Refuse(domain.InvalidURL, "The long URL must name a host")
	}
	if parsed.User != nil {
		return domain.Refuse(
			domain.InvalidURL, "The long URL must not carry a user name or password",
		)
	}
	destination, err := readSite(long)
	if err != nil {
		return domain.Refuse(domain.InvalidURL, "The host of the long URL cannot be used: %s", err)
	}
	if short := destination.shortHost(); short == shortHost ||
		slices.Contains(r.ShortHosts, short) {
		return domain.Refuse(domain.URLNotAllowed, "The long URL points back to this service")
	}
	if r.Blocked != nil && r.Blocked(destination.host) {
		return domain.Refuse(domain.URLNotAllowed, "The host of the long URL is blocked here")
	}
	return nil
}
