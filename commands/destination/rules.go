// Package destination decides where links may lead to. It refuses malformed URLs, blocked hosts,
// and the short links of this service. It never connects to a destination.
package destination

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"linkledger/commands/domain"
	"linkledger/typed"
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

// Check refuses destinations that are not absolute http or https URLs with InvalidURL, and
// forbidden destinations with URLNotAllowed. It reads the host as browsers do. The URL MUST be in
// the form of Trim. shortHost is a further host of short links, besides ShortHosts; empty: none.
func (r Rules) Check(long, shortHost string) error {
	if n := utf8.RuneCountInString(long); n < minLongURL || n > maxLongURL {
		return domain.Refuse(
			domain.URLNotAllowed, "The long URL must have %d to %d characters, it has %d",
			minLongURL, maxLongURL, n,
		)
	}
	if err := checkCharacters(long); err != nil {
		return err
	}
	destination, err := checkAuthority(long)
	if err != nil {
		return err
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

// checkCharacters refuses characters that no part of a URL may have. Blanks are allowed: browsers
// escape them.
func checkCharacters(long string) error {
	if !utf8.ValidString(long) {
		return domain.Refuse(domain.InvalidURL, "The long URL is not UTF-8")
	}
	if name, r := typed.Direction(long); name != "" {
		return domain.Refuse(domain.InvalidURL, "The long URL must not contain %U (%s), which "+
			"makes it look like another one: remove it", r, name)
	}
	for _, r := range long {
		if unicode.IsControl(r) {
			return domain.Refuse(domain.InvalidURL,
				"The long URL must not contain the control character %U, percent-encode it", r)
		}
	}
	return nil
}

// checkAuthority returns the site of a URL. It also refuses characters before the path that
// browsers accept but other clients read differently, such as a backslash.
func checkAuthority(long string) (site, error) {
	scheme, rest, _ := strings.Cut(long, "://")
	if scheme = strings.ToLower(scheme); scheme != "http" && scheme != "https" {
		return site{}, domain.Refuse(
			domain.InvalidURL, "The long URL must begin with http:// or https://",
		)
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	parsed, unreadable := url.Parse(scheme + "://" + rest)
	if unreadable == nil && parsed.Hostname() == "" {
		return site{}, domain.Refuse(domain.InvalidURL, "The long URL must name a host")
	}
	if strings.Contains(rest, "@") {
		return site{}, domain.Refuse(
			domain.InvalidURL, "The long URL must not carry a user name or password",
		)
	}
	destination, err := readSite(long)
	if err != nil {
		return site{}, domain.Refuse(
			domain.InvalidURL, "The host of the long URL cannot be used: %s", err,
		)
	}
	if unreadable != nil {
		return site{}, domain.Refuse(
			domain.InvalidURL,
			"The host of the long URL cannot be used: programs read it differently",
		)
	}
	return destination, nil
}
