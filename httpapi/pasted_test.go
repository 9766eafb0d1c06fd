package httpapi

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/uuid"

	"linkledger/commands/destination"
	"linkledger/commands/domain"
	"linkledger/events"
	"linkledger/httpapi/apierror"
	"linkledger/tagexpr"
)

// readTable returns the lines "given -> wanted" of a table of texts that people type and paste.
func readTable(t testing.TB, path string) (rows [][2]string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		given, want, ok := strings.Cut(line, " -> ")
		given, err := strconv.Unquote(given)
		if !ok || err != nil {
			t.Fatalf("%s: the line %s: %v", path, line, err)
		}
		if unquoted, err := strconv.Unquote(want); err == nil {
			want = unquoted
		}
		rows = append(rows, [2]string{given, want})
	}
	return rows
}

func quoted(t testing.TB, text string) string {
	t.Helper()
	encoded, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

// TestPastedDestinations creates and visits a link to each accepted destination of the table.
func TestPastedDestinations(t *testing.T) {
	t.Parallel()
	s := newStack(t, func(cfg *Config) { cfg.GroupLimit, cfg.MaxPageSize, cfg.PageSize = 500, 500, 500 })
	c := s.client(t, "alice")
	var rows [][2]string
	var items []string
	for _, row := range readTable(t, "../commands/destination/testdata/pasted.txt") {
		if !utf8.ValidString(row[0]) {
			continue // JSON cannot say it
		}
		rows = append(rows, row)
		items = append(items, `{"long_url":`+quoted(t, row[0])+`}`)
	}
	a := c.call("POST", "/v3/urls", `{"urls":[`+strings.Join(items, ",")+`]}`)
	if len(a.URLs) != len(rows) {
		t.Fatalf("%d: %.300s", a.status, a.body)
	}
	for i, made := range a.URLs {
		given, want := rows[i][0], rows[i][1]
		if strings.HasPrefix(want, "refused: ") {
			if made.code() == apierror.CodeOK {
				t.Errorf("%q is accepted", given)
			}
			continue
		}
		if made.code() != apierror.CodeOK {
			t.Errorf("%q: %+v", given, made.Error)
			continue
		}
		equal(t, "long_url", *made.LongURL, destination.Trim(given))
		visit := s.visit(t, "GET", "/"+made.Hash)
		equal(t, "visit", visit.status, http.StatusFound)
		equal(t, "Location", visit.header.Get("Location"), want)
	}
	edited := c.must("PATCH", "/v3/urls/"+a.URLs[0].Hash, `{"urls":[{"long_url":" https://example.com/é\u200b\n"}]}`)
	equal(t, "edited", *edited.URLs[0].LongURL, "https://example.com/é")
}

// TestPastedHashes checks that what a paste adds to a hash is cut off, in every field that names one.
func TestPastedHashes(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(t, "alice")
	for given, want := range map[string]string{
		"\u0020one": "one", "two\t": "two", "three\r\n": "three", "\u00a0four\u00a0": "four", "five\u200b": "five",
		"\ufeffsix": "six", "seven\u2060": "seven", "\u200eeight\u200f": "eight", "nine\u3000": "nine",
		"\u202aten\u202c": "ten",
	} {
		made := c.create(`"long_url":"https://example.com/","custom_hash":` + quoted(t, given))
		equal(t, given, made.Hash, want)
	}
	renamed := c.must("PATCH", "/v3/urls", `{"urls":[{"hash":" one\u200b","custom_hash":"\u00a0eleven\n"}]}`)
	equal(t, "renamed", renamed.URLs[0].Hash, "eleven")
	listed := c.must("GET", "/v3/urls?hashes=%C2%A0two%E2%80%8B,%20three", "")
	equal(t, "listed", len(listed.URLs), 2)
	for _, given := range []string{" ", "\u200b", "a b", "a\u200bb", "a\n b", "é"} {
		a := c.call("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":`+quoted(t, given)+`}]}`)
		if len(a.URLs) != 1 || a.URLs[0].code() == apierror.CodeOK {
			t.Errorf("%q: %d %s", given, a.status, a.body)
		}
	}
}

// TestSearchFindsAllSpellings searches links of now and of before in spellings that mean the same.
func TestSearchFindsAllSpellings(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(t, "alice")
	spellings := map[string][]string{
		"οδος":           {"ΟΔΟΣ", "Οδος", "οδοσ", "ΔΟΣ"},
		"Straße":         {"STRASSE", "strasse", "straße", "STRAẞE", "rasse"},
		"ΜΑΪΟΣ":          {"μαϊος", "μαι\u0308οσ"},
		"Cafe\u0301 x":   {"café", "CAFÉ X", "cafe\u0301"},
		"ﬁn":             {"fin", "FIN"},
		"ПРИВЕТ":         {"привет", "Привет"},
		"I \u2764\ufe0f": {"\u2764", "i \u2764\ufe0f", "I \u2764\ufe0e"},
		"İzmir":          {"İZMIR", "i\u0307zmir"},
		"naïve 50%_":     {"NAÏVE", "ï", "VE 50%", "%_"},
		"日本":             {"日本", "本"},
	}
	for note := range spellings {
		c.create(`"long_url":"https://example.com/","note":` + quoted(t, note))
	}
	c.create(`"long_url":"https://example.com/Größe?q=ΛΟΓΟΣ","custom_hash":"address"`)
	s.caughtUp(t)
	find := func(text, at string) []string {
		t.Helper()
		var found []string
		for _, link := range c.must("GET", "/v3/urls?search="+url.QueryEscape(text)+at, "").URLs {
			found = append(found, link.Note)
		}
		return found
	}
	past := "&at=" + url.QueryEscape(s.syncClock())
	for note, texts := range spellings {
		for _, text := range append(texts, note) {
			for _, at := range []string{"", past} {
				if found := find(text, at); len(found) != 1 || found[0] != note {
					t.Errorf("%q%s finds %q; want %q", text, at, found, note)
				}
			}
		}
	}
	for _, text := range []string{"GRÖSSE", "größe", "λογοσ", "ADDRESS"} {
		equal(t, text, len(find(text, "")), 1)
	}
	for _, text := range []string{"cafe x", "strase", "привёт"} {
		equal(t, text, len(find(text, "")), 0)
	}
}

// TestPastedLabels leads each label of the table through its life: it is created, listed, attached,
// named by an expression, renamed, and deleted by its path.
func TestPastedLabels(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(t, "alice")
	var given, stored, items []string
	known := make(map[string]bool)
	for _, row := range readTable(t, "../commands/domain/testdata/labels.txt") {
		if strings.HasPrefix(row[1], "refused: ") {
			if len(stored)%9 == 0 { // the rules have a test of their own
				continue
			}
			c.call("POST", "/v3/tags", `{"label":`+quoted(t, row[0])+`}`).is(http.StatusBadRequest, apierror.CodeInvalidLabel)
			continue
		}
		made := c.must("POST", "/v3/tags", `{"label":`+quoted(t, row[0])+`}`)
		if key := domain.PlainLabel(row[0]); !known[key] {
			known[key] = true
			equal(t, row[0], made.Tags[0].Label, row[1])
			given, stored = append(given, row[0]), append(stored, row[1])
			items = append(items, `{"long_url":"https://example.com/","tags":[`+quoted(t, row[0])+`]}`)
		}
	}
	var listed []string
	for _, tag := range c.must("GET", "/v3/tags", "").Tags {
		listed = append(listed, tag.Label)
	}
	if !slices.Equal(listed, stored) {
		t.Errorf("listed are %q; want %q", listed, stored)
	}
	var links []item
	for batch := range slices.Chunk(items, 50) {
		links = append(links, c.must("POST", "/v3/urls", `{"urls":[`+strings.Join(batch, ",")+`]}`).URLs...)
	}
	for i, label := range given {
		if !slices.Equal(links[i].Tags, stored[i:i+1]) {
			t.Errorf("%q is attached as %q", label, links[i].Tags)
		}
		expression := `+"` + label + `"|` + tagexpr.Quote(stored[i])
		found := c.must("GET", "/v3/urls?tags="+url.QueryEscape(expression), "").URLs
		if len(found) != 1 || found[0].Hash != links[i].Hash {
			t.Errorf("%s finds %d links", expression, len(found))
		}
		path := "/v3/tags/" + url.PathEscape(strings.TrimSpace(label))
		if i%2 == 0 {
			c.must("PATCH", path, `{"label":"renamed `+strconv.Itoa(i)+`"}`)
			equal(t, label, c.read(links[i].Hash).Tags[0], "renamed "+strconv.Itoa(i))
			continue
		}
		c.must("DELETE", path, "")
		equal(t, label, len(c.read(links[i].Hash).Tags), 0)
	}
	s.verified(t)
}

// TestTagsOfBefore gives an account two tags whose labels are the same today, as v0.1.0 allowed it. A
// label means the one in exactly its spelling, for links, expressions, past times and keys.
func TestTagsOfBefore(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.syncClock()
	c := s.client(t, "alice")
	c.must("POST", "/v3/tags", `{"label":"first"}`)
	for _, label := range []string{"strasse", "straße"} {
		s.setAside(t, events.StreamTags+c.id, events.TagCreated{
			TagID: uuid.NewString(), Account: c.id, Label: label, At: *s.now.Load(),
		}, "tags", "history")
	}
	c.create(`"long_url":"https://example.com/","custom_hash":"ss","tags":["strasse","other"]`)
	c.create(`"long_url":"https://example.com/","custom_hash":"sz","tags":["straße"]`)
	past := "&at=" + url.QueryEscape(s.syncClock())
	for label, want := range map[string]string{"strasse": "ss", "straße": "sz", "STRASSE": "ss", "Straße": "sz"} {
		for _, at := range []string{"", past} {
			found := c.must("GET", "/v3/urls?tags="+url.QueryEscape(label)+at, "").URLs
			if len(found) != 1 || found[0].Hash != want {
				t.Errorf("%s%s finds %+v; want %s", label, at, found, want)
			}
		}
		key := c.withKey(`"name":"` + label + `","tags":"+` + label + `"`)
		if found := key.must("GET", "/v3/urls", "").URLs; len(found) != 1 || found[0].Hash != want {
			t.Errorf("a key bound to %s finds %+v; want %s", label, found, want)
		}
		for _, own := range []string{"ss", "sz"} {
			a := key.call("PATCH", "/v3/urls/"+own, `{"urls":[{"note":"n"}]}`)
			if changed := a.status == http.StatusOK; changed != (own == want) {
				t.Errorf("a key bound to %s edits %s: %d %s", label, own, a.status, a.body)
			}
		}
		for _, made := range []string{"strasse", "straße"} {
			leads := map[string]string{"strasse": "ss", "straße": "sz"}[made]
			body := `{"urls":[{"long_url":"https://example.com/","tags":["` + made + `"],"custom_hash":"ss"}]}`
			a := key.call("POST", "/v3/urls", body) // the hash is taken, so a link within the bound is refused too
			if within := a.URLs[0].code() == apierror.CodeHashUnavailable; within != (leads == want) {
				t.Errorf("a key bound to %s makes a link with %s: %s", label, made, a.body)
			}
		}
	}
	c.must("PATCH", "/v3/tags/straße", `{"label":"Allee"}`)
	equal(t, "renamed", c.read("sz").Tags[0], "Allee")
	c.must("DELETE", "/v3/tags/STRAẞE", "") // the other one, now the only one
	equal(t, "deleted", len(c.read("ss").Tags), 1)
}

// TestTagsOfDots renames and deletes tags whose labels are segments of a path that means another one,
// as v0.1.0 allowed it.
func TestTagsOfDots(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(t, "alice")
	c.must("POST", "/v3/tags", `{"label":"first"}`)
	for _, label := range []string{".", ".."} {
		s.setAside(t, events.StreamTags+c.id, events.TagCreated{
			TagID: uuid.NewString(), Account: c.id, Label: label, At: *s.now.Load(),
		}, "tags", "history")
	}
	labels := func() (all []string) {
		for _, tag := range c.must("GET", "/v3/tags", "").Tags {
			all = append(all, tag.Label)
		}
		return all
	}
	equal(t, "tags", strings.Join(labels(), " "), "first . ..")
	for _, path := range []string{"/v3/tags/.", "/v3/tags/..", "/v3/tags/%2E.", "/v3/tags/.%2e", "/v3/tags/%2E/first"} {
		c.call("DELETE", path, "").is(http.StatusNotFound, apierror.CodeInvalidResource)
	}
	c.must("DELETE", "/v3/tags/%2e", "")
	equal(t, "tags", strings.Join(labels(), " "), "first ..")
	c.must("PATCH", "/v3/tags/%2E%2e/", `{"label":"dots"}`)
	equal(t, "tags", strings.Join(labels(), " "), "first dots")
	for path, want := range map[string]int{
		"/%2E": http.StatusNotFound, "/%2E%2E": http.StatusNotFound, "/v3/%2E%2E/one": http.StatusNotFound,
		"/v3/urls/%2E": http.StatusBadRequest, "/v3/urls/%2E%2E": http.StatusBadRequest, // not a hash
	} {
		if a := c.call("GET", path, ""); a.status != want {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}
