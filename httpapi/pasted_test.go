package httpapi_test

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

	"linkledger/commands/destination"
	"linkledger/commands/domain"
	"linkledger/httpapi"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
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
	s := httpapitest.New(t, func(cfg *httpapi.Config) { cfg.GroupLimit, cfg.MaxPageSize, cfg.PageSize = 500, 500, 500 })
	c := s.Client(t, "alice")
	var rows [][2]string
	var items []string
	for _, row := range readTable(t, "../commands/destination/testdata/pasted.txt") {
		if !utf8.ValidString(row[0]) {
			continue // JSON cannot say it
		}
		rows = append(rows, row)
		items = append(items, `{"long_url":`+quoted(t, row[0])+`}`)
	}
	a := c.Call("POST", "/v3/urls", `{"urls":[`+strings.Join(items, ",")+`]}`)
	if len(a.URLs) != len(rows) {
		t.Fatalf("%d: %.300s", a.Status, a.Body)
	}
	for i, made := range a.URLs {
		given, want := rows[i][0], rows[i][1]
		if strings.HasPrefix(want, "refused: ") {
			if made.Code() == apierror.CodeOK {
				t.Errorf("%q is accepted", given)
			}
			continue
		}
		if made.Code() != apierror.CodeOK {
			t.Errorf("%q: %+v", given, made.Error)
			continue
		}
		httpapitest.Equal(t, "long_url", *made.LongURL, destination.Trim(given))
		visit := s.Visit(t, "GET", "/"+made.Hash)
		httpapitest.Equal(t, "visit", visit.Status, http.StatusFound)
		httpapitest.Equal(t, "Location", visit.Header.Get("Location"), want)
	}
	edited := c.Must("PATCH", "/v3/urls/"+a.URLs[0].Hash, `{"urls":[{"long_url":" https://example.com/é\u200b\n"}]}`)
	httpapitest.Equal(t, "edited", *edited.URLs[0].LongURL, "https://example.com/é")
}

// TestPastedHashes checks that what a paste adds to a hash is cut off, in every field that names one.
func TestPastedHashes(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	for given, want := range map[string]string{
		"\u0020one": "one", "two\t": "two", "three\r\n": "three", "\u00a0four\u00a0": "four", "five\u200b": "five",
		"\ufeffsix": "six", "seven\u2060": "seven", "\u200eeight\u200f": "eight", "nine\u3000": "nine",
		"\u202aten\u202c": "ten",
	} {
		made := c.Create(`"long_url":"https://example.com/","custom_hash":` + quoted(t, given))
		httpapitest.Equal(t, given, made.Hash, want)
	}
	renamed := c.Must("PATCH", "/v3/urls", `{"urls":[{"hash":" one\u200b","custom_hash":"\u00a0eleven\n"}]}`)
	httpapitest.Equal(t, "renamed", renamed.URLs[0].Hash, "eleven")
	listed := c.Must("GET", "/v3/urls?hashes=%C2%A0two%E2%80%8B,%20three", "")
	httpapitest.Equal(t, "listed", len(listed.URLs), 2)
	for _, given := range []string{" ", "\u200b", "a b", "a\u200bb", "a\n b", "é"} {
		a := c.Call("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":`+quoted(t, given)+`}]}`)
		if len(a.URLs) != 1 || a.URLs[0].Code() == apierror.CodeOK {
			t.Errorf("%q: %d %s", given, a.Status, a.Body)
		}
	}
}

// TestSearchFindsAllSpellings searches new links and links of older versions in spellings that mean the same.
func TestSearchFindsAllSpellings(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
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
		c.Create(`"long_url":"https://example.com/","note":` + quoted(t, note))
	}
	c.Create(`"long_url":"https://example.com/Größe?q=ΛΟΓΟΣ","custom_hash":"address"`)
	s.CatchUp(t)
	find := func(text, at string) []string {
		t.Helper()
		var found []string
		for _, link := range c.Must("GET", "/v3/urls?search="+url.QueryEscape(text)+at, "").URLs {
			found = append(found, link.Note)
		}
		return found
	}
	past := "&at=" + url.QueryEscape(s.SyncClock())
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
		httpapitest.Equal(t, text, len(find(text, "")), 1)
	}
	for _, text := range []string{"cafe x", "strase", "привёт"} {
		httpapitest.Equal(t, text, len(find(text, "")), 0)
	}
}

// TestPastedLabels leads each label of the table through its life: it is created, listed, attached,
// named by an expression, renamed, and deleted by its path.
func TestPastedLabels(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	var given, stored, items []string
	known := make(map[string]bool)
	for _, row := range readTable(t, "../commands/domain/testdata/labels.txt") {
		if strings.HasPrefix(row[1], "refused: ") {
			if len(stored)%9 == 0 { // the rules have a test of their own
				continue
			}
			c.Call("POST", "/v3/tags", `{"label":`+quoted(t, row[0])+`}`).Is(http.StatusBadRequest, apierror.CodeInvalidLabel)
			continue
		}
		made := c.Must("POST", "/v3/tags", `{"label":`+quoted(t, row[0])+`}`)
		if key := domain.PlainLabel(row[0]); !known[key] {
			known[key] = true
			httpapitest.Equal(t, row[0], made.Tags[0].Label, row[1])
			given, stored = append(given, row[0]), append(stored, row[1])
			items = append(items, `{"long_url":"https://example.com/","tags":[`+quoted(t, row[0])+`]}`)
		}
	}
	var listed []string
	for _, tag := range c.Must("GET", "/v3/tags", "").Tags {
		listed = append(listed, tag.Label)
	}
	if !slices.Equal(listed, stored) {
		t.Errorf("listed are %q; want %q", listed, stored)
	}
	var links []httpapitest.Item
	for batch := range slices.Chunk(items, 50) {
		links = append(links, c.Must("POST", "/v3/urls", `{"urls":[`+strings.Join(batch, ",")+`]}`).URLs...)
	}
	for i, label := range given {
		if !slices.Equal(links[i].Tags, stored[i:i+1]) {
			t.Errorf("%q is attached as %q", label, links[i].Tags)
		}
		expression := `+"` + label + `"|` + tagexpr.Quote(stored[i])
		found := c.Must("GET", "/v3/urls?tags="+url.QueryEscape(expression), "").URLs
		if len(found) != 1 || found[0].Hash != links[i].Hash {
			t.Errorf("%s finds %d links", expression, len(found))
		}
		path := "/v3/tags/" + url.PathEscape(strings.TrimSpace(label))
		if i%2 == 0 {
			c.Must("PATCH", path, `{"label":"renamed `+strconv.Itoa(i)+`"}`)
			httpapitest.Equal(t, label, c.Read(links[i].Hash).Tags[0], "renamed "+strconv.Itoa(i))
			continue
		}
		c.Must("DELETE", path, "")
		httpapitest.Equal(t, label, len(c.Read(links[i].Hash).Tags), 0)
	}
	verified(t, s)
}
