package openid

import (
	"slices"
	"strings"
	"testing"
)

func TestParseSignIn(t *testing.T) {
	t.Parallel()
	longest := newSignIn("/v3/" + strings.Repeat("a", maxPath-4))
	value := longest.encode()
	if got, err := parseSignIn(value); err != nil || got != longest || len(value) != maxCookie {
		t.Fatalf("%v, %v, %d bytes; want %v in %d", got, err, len(value), longest, maxCookie)
	}
	parts := strings.Split(newSignIn("/console").encode(), ".")
	with := func(at int, part string) string {
		changed := slices.Clone(parts)
		changed[at] = part
		return strings.Join(changed, ".")
	}
	for name, malformed := range map[string]string{
		"empty":                "",
		"dots":                 "....",
		"another version":      with(0, "2"),
		"one part less":        strings.Join(parts[:4], "."),
		"one part more":        strings.Join(parts, ".") + ".",
		"empty state":          with(1, ""),
		"short state":          with(1, parts[1][1:]),
		"long state":           with(1, parts[1]+"AAAA"),
		"state with a line":    with(1, parts[1]+"\n"),
		"line in the state":    with(1, strings.Repeat("A", secretText-1)+"\n"),
		"padded state":         with(1, parts[1]+"="),
		"state of other form":  with(1, strings.Repeat("+", secretText)),
		"state of loose bits":  with(1, strings.Repeat("B", secretText)),
		"empty nonce":          with(2, ""),
		"empty verifier":       with(3, ""),
		"no path":              with(4, ""),
		"path that is no text": with(4, "/console"),
		"path with a line":     with(4, parts[4]+"\n"),
		"path to another host": with(4, encoding.EncodeToString([]byte("//evil.example"))),
		"too long":             value + "A",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := parseSignIn(malformed); err == nil {
				t.Errorf("%q is %v", malformed, got)
			}
		})
	}
}

func FuzzParseSignIn(f *testing.F) {
	f.Add("")
	f.Add("1....")
	f.Add(newSignIn("/console?a=b").encode())
	f.Add(newSignIn("/v3/" + strings.Repeat("a", maxPath-4)).encode())
	f.Fuzz(func(t *testing.T, value string) {
		parsed, err := parseSignIn(value)
		if err != nil {
			if strings.Contains(err.Error(), value) && value != "" && len(value) > 9 {
				t.Errorf("the error repeats %q", value)
			}
			return
		}
		if again := parsed.encode(); again != value {
			t.Errorf("%q becomes %q", value, again)
		}
		if LocalPath(parsed.returnTo) != parsed.returnTo {
			t.Errorf("path %q is not one of this service", parsed.returnTo)
		}
	})
}
