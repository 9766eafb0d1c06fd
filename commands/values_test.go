package commands

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func kind(err error) Kind {
	if refused, ok := errors.AsType[*Error](err); ok {
		return refused.Kind
	}
	return 0
}

func TestCheckLongURL(t *testing.T) {
	t.Parallel()
	rules := Rules{ShortHosts: []string{"sho.rt", "127.0.0.1:8080"}}
	tests := map[string]Kind{
		"https://example.com":                     0,
		"HTTP://example.com/a%20b?x=1&y=%C3%A9#z": 0,
		"http://[2001:db8::1]:8080/":              0,
		"https://bücher.example/ä":                0,
		"https://x/" + strings.Repeat("é", 2038):  0,
		"https://x/" + strings.Repeat("é", 2039):  URLNotAllowed,
		"x":                               URLNotAllowed,
		"":                                URLNotAllowed,
		"example.com/a":                   InvalidURL,
		"//example.com":                   InvalidURL,
		"javascript:alert(1)":             InvalidURL,
		"data:text/html,x":                InvalidURL,
		"ftp://example.com":               InvalidURL,
		"https://":                        InvalidURL,
		"https:///path":                   InvalidURL,
		"https://user:secret@example.com": InvalidURL,
		"https://user@example.com":        InvalidURL,
		"https://example.com/\r\nSet-Cookie: a=b": InvalidURL,
		"https://example.com/a b":                 InvalidURL,
		" https://example.com":                    InvalidURL,
		"https://example.com/\x00":                InvalidURL,
		"https://example.com/\xff":                InvalidURL,
		"https://exa mple.com":                    InvalidURL,
		"https://example.com:port":                InvalidURL,
		"https://sho.rt/abc":                      URLNotAllowed,
		"https://SHO.RT:443/abc":                  URLNotAllowed,
		"https://sho.rt./abc":                     URLNotAllowed,
		"https://notsho.rt/abc":                   0,
	}
	for long, want := range tests {
		if got := kind(rules.Check(long, "")); got != want {
			t.Errorf("%.60q: got %d, want %d", long, got, want)
		}
	}
}

func TestCheckCustomHash(t *testing.T) {
	t.Parallel()
	h := NewHandler(Config{ReservedHashes: []string{"v3"}})
	tests := map[string]Kind{
		"a": 0, "Ab9_-": 0, strings.Repeat("x", 25): 0,
		"": HashUnavailable, strings.Repeat("x", 26): HashUnavailable, "a b": HashUnavailable, "a/b": HashUnavailable,
		"é": HashUnavailable, "a\n": HashUnavailable, "v3": HashUnavailable,
	}
	for hash, want := range tests {
		if got := kind(h.checkCustomHash(hash)); got != want {
			t.Errorf("%q: got %d, want %d", hash, got, want)
		}
	}
}

func TestGenerateHash(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for range 1000 {
		hash := generateHash()
		if len(hash) != generatedLength || !ValidHash(hash) || strings.ContainsAny(hash, "01lio") {
			t.Fatalf("generated %q", hash)
		}
		seen[hash] = true
	}
	if len(seen) < 999 {
		t.Errorf("only %d of 1000 generated hashes differ", len(seen))
	}
}

func TestCheckDate(t *testing.T) {
	t.Parallel()
	tests := map[string]Kind{
		"": 0, "2026-02-28": 0, "2028-02-29": 0, "1999-12-31": 0,
		"2026-02-29": InvalidDate, "2026-13-01": InvalidDate, "2026-1-1": InvalidDate, "tomorrow": InvalidDate, "0000-01-01": InvalidDate, "0001-01-01": 0,
		"2026-01-01T00:00:00Z": InvalidDate, "20260101": InvalidDate,
	}
	for date, want := range tests {
		if got := kind(checkDate(date)); got != want {
			t.Errorf("%q: got %d, want %d", date, got, want)
		}
	}
}

func TestTrimNote(t *testing.T) {
	t.Parallel()
	full := strings.Repeat("é", 25)
	for note, want := range map[string]string{
		"": "", "abc": "abc", full: full, full + "é": full, full[2:] + "\xffbc": full[2:] + "\uFFFD", "a\x00b": "ab",
	} {
		if got := trimNote(note); got != want || !utf8.ValidString(got) {
			t.Errorf("%q: got %q, want %q", note, got, want)
		}
	}
}

func TestCheckLabel(t *testing.T) {
	t.Parallel()
	for label, want := range map[string]string{"a": "a", "  Spring 2027 ": "Spring 2027", "é_-.": "é_-.", strings.Repeat("ä", 50): strings.Repeat("ä", 50)} {
		if got, err := checkLabel(label); err != nil || got != want {
			t.Errorf("%q: got %q, %v", label, got, err)
		}
	}
	for _, label := range []string{"", "  ", strings.Repeat("ä", 51), "a,b", "a\"b", "+a", "a\tb", "Archived", "a\xff"} {
		if _, err := checkLabel(label); kind(err) != InvalidLabel {
			t.Errorf("%q: %v", label, err)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	key := newAPIKey()
	if !SameKey(HashKey(key.key), key.hash) || SameKey(HashKey(key.key+"x"), key.hash) || SameKey(HashKey(""), key.hash) || SameKey(HashKey(key.key), "") {
		t.Error("a key matches exactly its own hash")
	}
	if strings.Contains(key.key, key.hash) || len(key.id) != 8 {
		t.Errorf("id %q", key.id)
	}
}

// An accepted value holds what the rest of the service builds on: it can be sent in a header, stored and compared.
func FuzzValues(f *testing.F) {
	for _, seed := range []string{
		"https://example.com/?a=b#c", "http://[::1]:80/", "2026-02-29", "0000-01-01", "9999-12-31", " Café-1 ", "visited", "a\x00b", "\xff", "ſ",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if checkDate(text) == nil && text != "" && len(text) != len(time.DateOnly) {
			t.Errorf("%q is a date", text)
		}
		if note := trimNote(text); utf8.RuneCountInString(note) > maxNote || !utf8.ValidString(note) || strings.Contains(note, "\x00") {
			t.Errorf("the note of %q is %q", text, note)
		}
		label, err := checkLabel(text)
		if err != nil {
			return
		}
		if again, err := checkLabel(label); err != nil || again != label || label == "" || utf8.RuneCountInString(label) > 50 {
			t.Errorf("the label of %q is %q, of which it is %q, %v", text, label, again, err)
		}
	})
}

// An accepted destination can be sent in a header.
func FuzzCheckLongURL(f *testing.F) {
	for _, seed := range []string{"https://example.com/?a=b#c", "http://[::1]:80/", "https://x/\x00", "\xff", "https://sho.rt/a"} {
		f.Add(seed)
	}
	rules := Rules{ShortHosts: []string{"sho.rt"}}
	f.Fuzz(func(t *testing.T, text string) {
		if rules.Check(text, "") == nil && (utf8.RuneCountInString(text) > maxLongURL || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f })) {
			t.Errorf("%q is a long URL", text)
		}
	})
}
