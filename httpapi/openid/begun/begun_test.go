package begun

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	cookieSecret = []byte("sixteen bytes or")
	begunAt      = time.Date(2026, 5, 14, 12, 0, 0, 0, time.UTC)
)

// TestParse checks that no value of a cookie is read but one that was made under the secret.
func TestParse(t *testing.T) {
	t.Parallel()
	longest := New("/v3/"+strings.Repeat("a", maxPath-4), begunAt)
	longest.At = math.MinInt64
	value := longest.Encode(cookieSecret)
	if got, err := Parse(value, cookieSecret); err != nil || got != longest || len(value) != maxCookie {
		t.Fatalf("%v, %v, %d bytes; want %v in %d", got, err, len(value), longest, maxCookie)
	}
	begun := New("/console", begunAt)
	parts := strings.Split(begun.Encode(cookieSecret), ".")
	with := func(at int, part string) string {
		changed := slices.Clone(parts)
		changed[at] = part
		return strings.Join(changed, ".")
	}
	foreign := begun
	foreign.ReturnTo = "//evil.example"
	for name, malformed := range map[string]string{
		"empty":                 "",
		"dots":                  "......",
		"another version":       with(0, "1"),
		"a later time":          with(1, strconv.FormatInt(begun.At+600, 10)),
		"another spelling":      with(1, "+"+parts[1]),
		"another state":         with(2, newSecret()),
		"another nonce":         with(3, newSecret()),
		"another verifier":      with(4, newSecret()),
		"empty state":           with(2, ""),
		"state with a line":     with(2, parts[2]+"\n"),
		"no path":               with(5, ""),
		"another path":          with(5, encoding.EncodeToString([]byte("/console/links"))),
		"no tag":                with(6, ""),
		"another tag":           with(6, newSecret()),
		"tag with a line":       with(6, parts[6]+"\n"),
		"of a shorter value":    parts[0] + "." + parts[6],
		"one part less":         strings.Join(parts[:6], "."),
		"one part more":         strings.Join(parts, ".") + ".",
		"under another secret":  begun.Encode([]byte("sixteen bytes of")),
		"under no secret":       begun.Encode(nil),
		"path to another host":  foreign.Encode(cookieSecret),
		"too long":              value + "A",
		"a former version":      "1." + strings.Join(parts[2:6], "."),
		"a former one, tagged":  "1." + strings.Join(parts[2:], "."),
		"two values, one after": strings.Join(parts, ".") + "." + strings.Join(parts, "."),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := Parse(malformed, cookieSecret); err == nil {
				t.Errorf("%q is %v", malformed, got)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("")
	f.Add("2......")
	f.Add(New("/console?a=b", begunAt).Encode(cookieSecret))
	f.Add(New("/v3/"+strings.Repeat("a", maxPath-4), begunAt).Encode(cookieSecret))
	f.Fuzz(func(t *testing.T, value string) {
		// A value that is not authentic is also read with the tag that makes it so.
		tagged := value
		if end := strings.LastIndexByte(value, '.'); end >= 0 {
			tagged = value[:end] + "." + tagOf(value[:end], cookieSecret)
		}
		for _, value := range []string{value, tagged} {
			parsed, err := Parse(value, cookieSecret)
			if err != nil {
				if strings.Contains(err.Error(), value) && value != "" && len(value) > 9 {
					t.Errorf("the error repeats %q", value)
				}
				continue
			}
			if value != tagged {
				t.Errorf("%q is read without its tag", value)
			}
			if LocalPath(parsed.ReturnTo) != parsed.ReturnTo {
				t.Errorf("path %q is not one of this service", parsed.ReturnTo)
			}
		}
	})
}
