package destination

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"linkledger/typed"
)

// site is the host and port that a browser connects to for a URL. A host has many spellings, and
// all have the same site.
type site struct {
	// host is in ASCII and lower case, without a trailing dot. An IP address is in its usual form
	// without brackets. An IPv6 address that maps to an IPv4 address is in the form of the IPv4
	// address.
	host string
	port string // empty: 80, 443, or none given
}

// ShortHost returns the host of an http or https URL in the form that Rules.ShortHosts and
// Request.ShortHost require: as a browser reads it, and with the port unless it is 80 or 443.
func ShortHost(address string) (string, error) {
	s, err := readSite(address)
	if err != nil {
		return "", err
	}
	return s.shortHost(), nil
}

func (s site) shortHost() string {
	if s.port != "" {
		return net.JoinHostPort(s.host, s.port)
	}
	return s.host
}

// readSite reads a URL as browsers do, by the URL Standard of WHATWG. It refuses URLs that browsers
// refuse, repair (missing and superfluous slashes) or read in different ways.
func readSite(address string) (site, error) {
	scheme, rest, _ := strings.Cut(address, "://")
	if scheme != "https" && scheme != "http" {
		if scheme = strings.ToLower(scheme); scheme != "https" && scheme != "http" {
			return site{}, errors.New("it does not begin with http:// or https://")
		}
	}
	authority := rest
	if end := strings.IndexAny(rest, `/\?#`); end >= 0 { // browsers read \ as /
		authority = rest[:end]
	}
	if strings.Contains(authority, "@") {
		return site{}, errors.New("there is a user name before it")
	}
	host, port, err := splitPort(authority)
	if err != nil {
		return site{}, err
	}
	if host, err = canonicalHost(host); err != nil {
		return site{}, err
	}
	return site{host, port}, nil
}

// splitPort splits off the port. The port is empty if there is none, or if it is 80 or 443.
func splitPort(authority string) (host, port string, err error) {
	colon := strings.LastIndexByte(authority, ':')
	if colon < 0 || strings.HasSuffix(authority, "]") {
		return authority, "", nil
	}
	host, port = authority[:colon], authority[colon+1:]
	if port == "" {
		return host, "", nil
	}
	number, err := strconv.ParseUint(port, 10, 16)
	switch {
	case err != nil:
		return "", "", errors.New("the port is no number up to 65535")
	case number == 80, number == 443:
		return host, "", nil
	}
	return host, strconv.FormatUint(number, 10), nil
}

// hostNames converts host names as browsers do.
var hostNames = idna.New(
	idna.MapForLookup(), idna.BidiRule(), idna.CheckJoiners(true), idna.CheckHyphens(false),
	idna.StrictDomainName(false), idna.Transitional(false), idna.VerifyDNSLength(false),
)

// punycode begins a label of a host name that encodes Unicode.
const punycode = "xn--"

// canonicalHost returns a host in the form of site.host.
func canonicalHost(host string) (string, error) {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		return canonicalIPv6(inner)
	}
	if strings.Contains(host, "%") {
		decoded, err := url.PathUnescape(host)
		if err != nil {
			return "", errors.New("there is a % in it that escapes nothing")
		}
		host = decoded
	}
	name, err := canonicalName(host)
	if err != nil {
		return "", err
	}
	name = strings.TrimSuffix(name, ".")
	if err := checkName(name); err != nil {
		return "", err
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	if !isIPv4Number(last) {
		return name, nil
	}
	address, ok := parseIPv4(name)
	if !ok {
		return "", errors.New("its last part is a number, and it is no IPv4 address")
	}
	return address.String(), nil
}

// The longest host name, in characters. DNS does not allow longer names, and the conversion of a
// long name takes long.
const (
	maxName = 253
	maxPart = 63 // of a label, between two dots
)

// canonicalName converts a host name to ASCII in lower case.
func canonicalName(host string) (string, error) {
	if typed.IsASCII(host) {
		name := strings.ToLower(host)
		if !strings.Contains(name, punycode) {
			return name, nil
		}
	}
	switch {
	case !utf8.ValidString(host):
		return "", errors.New("it is not UTF-8")
	case tooLong(host):
		return "", errHostTooLong
	case strings.Contains(host, "ẞ"): // means ss up to Unicode 15.0, and ß since
		return "", errors.New("browsers do not agree what ẞ stands for, write ß or ss")
	}
	name, err := hostNames.ToASCII(host)
	if err != nil {
		return "", errNoHost
	}
	// Some characters convert from Unicode, but browsers refuse their punycode.
	if again, err := hostNames.ToASCII(name); err != nil || again != name {
		return "", errNoHost
	}
	return name, nil
}

var (
	errHostTooLong = fmt.Errorf(
		"it has more than %d characters, or %d between two dots", maxName, maxPart,
	)
	errNoHost = errors.New("it does not convert to a host name (UTS #46)")
)

// tooLong reports whether a host name is longer than DNS allows.
func tooLong(host string) bool {
	length, part := 0, 0
	for _, r := range host {
		length++
		part++
		switch r {
		case '.', '\u3002', '\uff0e', '\uff61': // the dots of browsers
			part = 0
		}
		if part > maxPart || length > maxName+1 { // a dot may follow
			return true
		}
	}
	return false
}

// checkName refuses a converted host name that browsers refuse, or that DNS cannot have.
func checkName(name string) error {
	if name == "" || name[0] == '.' || name[len(name)-1] == '.' || strings.Contains(name, "..") {
		return errors.New("it has an empty part")
	}
	if tooLong(name) {
		return errHostTooLong
	}
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c == 0x7f || strings.IndexByte(`#/:<>?@[\]^|%`, c) >= 0 {
			return fmt.Errorf("there is a %q in it", c)
		}
	}
	return nil
}

// canonicalIPv6 returns an IPv6 address in the form of site.host. bracketed is the address and its
// closing bracket.
func canonicalIPv6(bracketed string) (string, error) {
	inner, closed := strings.CutSuffix(bracketed, "]")
	address, err := netip.ParseAddr(inner)
	if !closed || err != nil || !address.Is6() || address.Zone() != "" {
		return "", errors.New("there is no IPv6 address between its brackets")
	}
	return canonicalIP(address).String(), nil
}

// translated are the IPv6 addresses that map to IPv4 addresses in networks without IPv4 (RFC 6052).
var translated = netip.MustParsePrefix("64:ff9b::/96")

// canonicalIP returns the IPv4 address that an IPv6 address maps to, or the address itself.
func canonicalIP(address netip.Addr) netip.Addr {
	if translated.Contains(address) {
		bytes := address.As16()
		return netip.AddrFrom4([4]byte(bytes[12:]))
	}
	return address.Unmap()
}

// isIPv4Number reports whether browsers read a host with this last part as an IPv4 address. If such
// a host is no address, browsers refuse it.
func isIPv4Number(part string) bool {
	if part == "" || part[0] < '0' || part[0] > '9' {
		return false
	}
	if strings.Trim(part, "0123456789") == "" {
		return true
	}
	_, ok := parseIPv4Number(part)
	return ok
}

// parseIPv4 reads an IPv4 address of one to four numbers. The last number fills the remaining
// bytes.
func parseIPv4(host string) (netip.Addr, bool) {
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var bytes [4]byte
	last := len(parts) - 1
	for i, part := range parts[:last] {
		number, ok := parseIPv4Number(part)
		if !ok || number > 0xff {
			return netip.Addr{}, false
		}
		bytes[i] = byte(number)
	}
	rest, ok := parseIPv4Number(parts[last])
	for i := 3; i >= last; i-- {
		bytes[i] = byte(rest)
		rest >>= 8
	}
	return netip.AddrFrom4(bytes), ok && rest == 0
}

// parseIPv4Number reads a number: hexadecimal after 0x, octal after 0, else decimal. A number
// beyond 64 bits returns the largest one, which no address has.
func parseIPv4Number(part string) (uint64, bool) {
	base := 10
	switch {
	case part == "0x": // browsers read it as 0
		return 0, true
	case strings.HasPrefix(part, "0x"):
		part, base = part[2:], 16
	case len(part) > 1 && part[0] == '0':
		part, base = part[1:], 8
	}
	number, err := strconv.ParseUint(part, base, 64)
	return number, err == nil || errors.Is(err, strconv.ErrRange)
}
