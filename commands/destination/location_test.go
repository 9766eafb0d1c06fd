package destination

import (
	_ "embed"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

//go:embed testdata/pasted.txt
var pasted string

// readPasted calls take with each line of the table of pasted destinations. Of the last two values
// one is empty.
func readPasted(t *testing.T, take func(given, location, refused string)) {
	t.Helper()
	for line := range strings.Lines(pasted) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		given, want, ok := strings.Cut(line, " -> ")
		given, err := strconv.Unquote(given)
		if !ok || err != nil {
			t.Fatalf("the line %s: %v", line, err)
		}
		if reason, ok := strings.CutPrefix(want, "refused: "); ok {
			take(given, "", reason)
			continue
		}
		if want, err = strconv.Unquote(want); err != nil {
			t.Fatalf("the line %s: %v", line, err)
		}
		take(given, want, "")
	}
}

func TestPastedDestinations(t *testing.T) {
	t.Parallel()
	rules := Rules{ShortHosts: []string{"sho.rt"}}
	readPasted(t, func(given, location, refused string) {
		long := Trim(given)
		err := rules.Check(long, "")
		switch {
		case refused != "":
			if err == nil || !strings.Contains(err.Error(), refused) {
				t.Errorf("%q: %v; want a refusal with %q", given, err, refused)
			}
		case err != nil:
			t.Errorf("%q is refused: %v", given, err)
		case Location(long) != location:
			t.Errorf("%q leads to %q; want %q", given, Location(long), location)
		}
	})
}

// FuzzLocation checks that what is sent to visitors is printable ASCII, and that an accepted
// destination leads to the host that was checked.
func FuzzLocation(f *testing.F) {
	for _, seed := range []string{
		"https://example.com/?a=b#c", "http://[::1]:80/", "https://x/\x00", "\xff", "https://sho.rt/a",
		"https://b\u00fccher.example:80/\u00e9", "https://\u200b.example", "https://\uff21.b:\u0661", "https://a/ %",
	} {
		f.Add(seed)
	}
	rules := Rules{ShortHosts: []string{"sho.rt"}}
	f.Fuzz(func(t *testing.T, text string) {
		long := Trim(text)
		if Trim(long) != long {
			t.Errorf("%q is trimmed to %q, and that to %q", text, long, Trim(long))
		}
		location := Location(long)
		if strings.ContainsFunc(location, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			t.Errorf("%q leads to %q", text, location)
		}
		if isPrintable(text) && Location(text) != text {
			t.Errorf("%q leads to %q", text, Location(text))
		}
		if rules.Check(long, "") != nil {
			return
		}
		checked, _ := readSite(long)
		sent, err := readSite(location)
		if err != nil || sent != checked {
			t.Errorf("%q was checked as %v and leads to %v, %v", long, checked, sent, err)
		}
		if _, err := url.Parse(location[:strings.IndexAny(location+"/", "/?#")]); err != nil {
			t.Errorf("%q leads to %q: %v", long, location, err)
		}
		if utf8.RuneCountInString(long) > maxLongURL {
			t.Errorf("%d characters are accepted", utf8.RuneCountInString(long))
		}
	})
}

func BenchmarkLocation(b *testing.B) {
	for name, long := range map[string]string{
		"ASCII": "https://example.com/a/path/of/usual/length?with=a&query=string",
		"path":  "https://example.com/caf\u00e9/\u65e5\u672c?q=\u00fc",
		"host":  "https://b\u00fccher.example/\u65e5\u672c",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Location(long)
			}
		})
	}
}
