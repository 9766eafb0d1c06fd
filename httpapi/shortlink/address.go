package shortlink

import (
	"html"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"linkledger/commands/hashes"
	"linkledger/typed"
)

const (
	// maxAddress is the length in bytes of the longest path that may be a short link with other
	// text around its hash.
	maxAddress = 1024
	// maxSpellings bounds the look-ups of a path that leads to no link.
	maxSpellings = 4
	// maxEscapes is how often a path may have been escaped.
	maxEscapes = 4
)

// Address returns the URL of the short link that the path of u stands for. People type and paste a
// short link with characters around its hash that no hash can have, such as a full stop, a bracket
// or a parameter. The path of the result is /name or /name/qr.png. Hashes returns the hashes that
// the name stands for. Address returns false if the path stands for no short link.
func Address(u *url.URL) (*url.URL, bool) {
	name, qr := split(u.EscapedPath())
	if len(Hashes(name)) == 0 {
		return u, false
	}
	c := *u
	c.Path, c.RawPath = "/"+name, "/"+url.PathEscape(name)
	if qr {
		c.Path, c.RawPath = c.Path+QRPath, c.RawPath+QRPath
	}
	return &c, true
}

// Hashes returns the hashes that a name stands for, the likeliest first, at most maxSpellings. If
// several of them have links, the first of those links is meant. If the name is a valid hash, it is
// the first.
func Hashes(name string) []string {
	if hashes.Valid(name) && !hasOtherSpelling(name) {
		return []string{name}
	}
	if len(name) > maxAddress {
		return nil
	}
	found := make([]string, 0, maxSpellings)
	add := func(hash string) {
		if hashes.Valid(hash) && len(found) < maxSpellings && !slices.Contains(found, hash) &&
			(hash == name || !hashes.Served(hash)) {
			found = append(found, hash)
		}
	}
	var within []string
	// The untypeset text comes first, because the hash in it is the longer one, and a link with a
	// longer hash is hardly found by chance.
	for _, text := range []string{untypeset(name), name} {
		if hash, ok := hashIn(text); ok {
			within = append(within, hash)
		}
	}
	for _, hash := range within {
		add(hash)
		// Underscores and dashes around a hash may come from Markdown or a sentence. If a link has
		// them in its hash, the line above has added that hash first.
		add(strings.Trim(hash, "_-"))
	}
	for _, hash := range within {
		add(strings.ToLower(hash)) // generated hashes are in lower case
		add(strings.ToLower(strings.Trim(hash, "_-")))
	}
	return found
}

// hasOtherSpelling reports whether a valid hash may stand for another one.
func hasOtherSpelling(hash string) bool {
	return strings.Trim(hash, "_-") != hash || strings.ToLower(hash) != hash
}

// split returns the name in an escaped path, without any escapes, and whether the path asks for the
// QR code.
func split(escaped string) (name string, qr bool) {
	if len(escaped) > maxAddress {
		return "", false
	}
	path := strings.TrimLeft(unescape(escaped), "/")
	if slices.ContainsFunc(strings.Split(path, "/"), func(s string) bool {
		return s == "." || s == ".."
	}) {
		return "", false
	}
	if name, rest, ok := strings.Cut(path, QRPath); ok && isTail(rest) {
		return name, true
	}
	return path, false
}

// unescape returns a text without the escapes of URLs and of HTML, which copying a URL may add more
// than once.
func unescape(text string) string {
	for range maxEscapes {
		plain := text
		if decoded, err := url.PathUnescape(text); err == nil {
			plain = decoded
		}
		if strings.Contains(plain, "&") {
			plain = html.UnescapeString(plain)
		}
		if plain == text {
			break
		}
		text = plain
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// hashIn returns the first part of a text that may be a hash. It returns false if the text around
// that part cannot be ignored. A full stop before the part cannot be ignored, because such a text
// is the name of a hidden file.
func hashIn(text string) (string, bool) {
	begin := strings.IndexFunc(text, isHashCharacter)
	if begin < 0 {
		return "", false
	}
	hash, tail := text[begin:], ""
	if end := strings.IndexFunc(hash, isOther); end >= 0 {
		hash, tail = hash[:end], hash[end:]
	}
	head := text[:begin]
	return hash, !strings.ContainsFunc(head, isLetter) && !strings.HasSuffix(head, ".") &&
		isTail(tail)
}

// isTail reports whether the end of a path can be ignored: it is empty, or does not look like a
// continuation of the path. /abc.html and /abc/def are other paths than /abc, and not typed by
// mistake.
func isTail(tail string) bool {
	switch {
	case tail == "":
		return true
	case tail[0] == '.':
		return len(tail) == 1 || isOther(rune(tail[1]))
	case tail[0] == '/':
		return !strings.ContainsFunc(tail, isLetter)
	}
	return true
}

// untypeset returns a text as it was before programs made it prettier: without invisible characters
// and the backslashes of Markdown, and with ASCII for dashes and for the wide forms of East Asia.
func untypeset(text string) string {
	plain := strings.NewReplacer(`\_`, "_", `\-`, "-", "/_", "_", "\u2014", "--").Replace(text)
	return strings.Map(func(r rune) rune {
		switch {
		case typed.Invisible(r):
			return -1
		case unicode.Is(unicode.Pd, r), r == '\u2212':
			return '-'
		case '\uff01' <= r && r <= '\uff5e':
			return r - '\uff01' + '!'
		}
		return r
	}, plain)
}

func isHashCharacter(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' ||
		r == '_' || r == '-'
}

func isOther(r rune) bool { return !isHashCharacter(r) }

func isLetter(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
