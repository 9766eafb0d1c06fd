package paste

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestReadPaste reads pastes of people and exports of other services.
func TestReadPaste(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []string // destination hash tags note, or the beginning of a reason
	}{
		"addresses": {
			"https://example.com/artikel,b-1234\r\nhttps://example.com/a;b?c=\"\n\n www.example.com/x \n",
			[]string{"https://example.com/artikel,b-1234", "https://example.com/a;b?c=\"", "https://www.example.com/x"},
		},
		"columns without names": {
			"https://example.com/1, one, news; spring sale, \"a, note\"\nhttps://example.com/2,two",
			[]string{"https://example.com/1 one [news spring sale] a, note", "https://example.com/2,two"},
		},
		"tabs": {
			"https://example.com/a,b\tone\tnews, red tape\nhttps://example.com/2\t\tnews",
			[]string{"https://example.com/a,b one [news red tape]", "https://example.com/2 [news]"},
		},
		"tiny.cc": {
			"\ufeffurl;short_id;note\n\"https://example.com/a;b\";spring;\"a note\"\nhttps://example.com/c,d;summer",
			[]string{"https://example.com/a;b spring a note", "https://example.com/c,d summer"},
		},
		"Shlink": {
			"createdAt,domain,shortCode,shortUrl,longUrl,title,tags,visits\n" +
				`"2026-01-01T00:00:00+01:00","","abc","https://s.example/abc","https://example.com/","Two` + "\n" + `lines","a|b",3`,
			[]string{"https://example.com/ abc [a b] Two\nlines"},
		},
		"short links": {"Link,Destination URL\nhttps://bit.example/x1,https://example.com/", []string{"https://example.com/ x1"}},
		"a bad quote": {
			"url,hash\nhttps://example.com/1,\"one\nhttps://example.com/2,two\nhttps://example.com/\"3,three",
			[]string{"A quotation mark", "https://example.com/2 two", "A quotation mark"},
		},
		"no destination": {"url,hash\n,one", []string{"The line has no destination"}},
		"a long note":    {"url,note\nhttps://example.com/,1234567890123456789012345üä", []string{"https://example.com/ 1234567890123456789012345 (the note is cut"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines, _, err := readPaste(c.text)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, l := range lines {
				parts := []string{l.LongURL, l.Hash}
				if len(l.Tags) > 0 {
					parts = append(parts, fmt.Sprint(l.Tags))
				}
				parts = append(parts, l.Note)
				if l.Remark != "" {
					parts = append(parts, "("+l.Remark)
				}
				if l.Reason != "" {
					parts = []string{l.Reason}
				}
				parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
				got = append(got, strings.Join(parts, " "))
			}
			if !slices.EqualFunc(got, c.want, strings.HasPrefix) {
				t.Errorf("read %q; want %q", got, c.want)
			}
		})
	}
}

// FuzzReadPaste checks that no line of a paste is lost or read twice.
func FuzzReadPaste(f *testing.F) {
	f.Add("url;note\n\"a;b\";c")
	f.Add("a\tb\n\"")
	f.Fuzz(func(t *testing.T, text string) {
		lines, of, err := readPaste(text)
		if err != nil {
			return
		}
		last := 0
		for _, l := range lines {
			if l.Number <= last || l.Reason == "" && l.LongURL == "" {
				t.Errorf("line %+v after %d, of %+v", l, last, of)
			}
			last = l.Number
		}
	})
}
