package destination

import (
	"net/url"
	"strings"

	"linkledger/typed"
)

// lineEnds are the characters that browsers take out of a URL, wherever they stand.
var lineEnds = strings.NewReplacer("\t", "", "\n", "", "\r", "")

// Trim returns a destination without what a paste adds to it: blanks, line ends and invisible
// characters around it, and line ends and tabs in it. Characters that set the direction of writing
// stay, so that Check refuses them.
func Trim(long string) string {
	if name, _ := typed.Direction(long); name == "" {
		long = typed.Trim(long)
	}
	return lineEnds.Replace(long)
}

// Location returns a destination for the Location header, in ASCII. Blanks and characters outside
// ASCII are percent-encoded as browsers do, a host gets its IDNA form, and everything else stays
// byte for byte. Most of an older destination that Check refuses now stays byte for byte too.
func Location(long string) string {
	if isPrintable(long) {
		return long
	}
	scheme, rest, ok := strings.Cut(long, "://")
	if !ok {
		return escaped(long)
	}
	end := strings.IndexAny(rest, `/\?#`)
	if end < 0 {
		end = len(rest)
	}
	return escaped(scheme) + "://" + asciiAuthority(rest[:end]) + escaped(rest[end:])
}

// isPrintable reports whether a text has only printable ASCII characters and no blanks.
func isPrintable(text string) bool {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] >= 0x7f {
			return false
		}
	}
	return true
}

// asciiAuthority returns host and port in ASCII.
func asciiAuthority(given string) string {
	if typed.IsASCII(given) {
		return escaped(given)
	}
	host, port := given, ""
	if colon := strings.LastIndexByte(given, ':'); colon >= 0 {
		host, port = given[:colon], given[colon:]
	}
	decoded, err := url.PathUnescape(host)
	if err != nil {
		return escaped(given)
	}
	name, err := canonicalName(decoded)
	if err != nil || checkName(strings.TrimSuffix(name, ".")) != nil {
		return escaped(given)
	}
	return name + escaped(port)
}

// escaped returns a text with all bytes percent-encoded that are not printable ASCII. Line ends and
// tabs are left out.
func escaped(text string) string {
	const digits = "0123456789ABCDEF"
	var to strings.Builder
	to.Grow(len(text) + 32)
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\t', c == '\n', c == '\r':
		case c <= ' ', c >= 0x7f:
			to.Write([]byte{'%', digits[c>>4], digits[c&15]})
		default:
			to.WriteByte(c)
		}
	}
	return to.String()
}
