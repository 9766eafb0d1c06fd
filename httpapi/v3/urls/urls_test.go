package urls_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"linkledger/httpapi"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
)

func TestItemsFailForThemselves(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	c.Create(`"long_url":"https://example.com/","custom_hash":"taken"`)
	ok := `"long_url":"https://example.com/"`
	cases := []struct {
		fields  string
		want    apierror.Code
		details string
	}{
		{`"note":"x"`, apierror.CodeMissingInput, "long_url is missing"},
		{`"long_url":null`, apierror.CodeMissingInput, "long_url is missing"},
		{`"long_url":"ftp://example.com/"`, apierror.CodeInvalidURL, "http"},
		{`"long_url":"javascript:alert(1)"`, apierror.CodeInvalidURL, "http"},
		{`"long_url":"https://a:b@example.com/"`, apierror.CodeInvalidURL, "password"},
		{`"long_url":"https://example.com/\u0001Set-Cookie:x"`, apierror.CodeInvalidURL, "control"},
		{`"long_url":""`, apierror.CodeURLNotAllowed, "characters"},
		{`"long_url":"https://sho.rt/abc"`, apierror.CodeURLNotAllowed, "this service"},
		{ok + `,"custom_hash":"taken"`, apierror.CodeHashUnavailable, "in use"},
		{ok + `,"custom_hash":"v3"`, apierror.CodeHashUnavailable, "reserved"},
		{ok + `,"custom_hash":"a b"`, apierror.CodeHashUnavailable, "1 to 25"},
		{ok + `,"custom_hash":"` + strings.Repeat("a", 26) + `"`, apierror.CodeHashUnavailable, "1 to 25"},
		{ok + `,"expiration_date":"2026-02-30"`, apierror.CodeInvalidDate, "YYYY-MM-DD"},
		{ok + `,"expiration_date":"0000-01-01"`, apierror.CodeInvalidDate, "calendar date"},
		{ok + `,"max_clicks":-1`, apierror.CodeWrongInput, "max_clicks"},
		{ok + `,"tags":["a\"b"]`, apierror.CodeInvalidLabel, "quotation mark"},
		{ok + `,"tags":["archived"]`, apierror.CodeInvalidLabel, "meaning"},
		{ok + `,"tags":[""]`, apierror.CodeInvalidLabel, "50"},
	}
	items := []string{`{` + ok + `,"custom_hash":"fine"}`}
	for _, tc := range cases {
		items = append(items, `{`+tc.fields+`}`)
	}
	a := c.Call("POST", "/v3/urls", `{"urls":[`+strings.Join(items, ",")+`]}`)
	a.Is(http.StatusOK, apierror.CodeOK)
	httpapitest.Equal(t, "hash", a.URLs[0].Hash, "fine")
	a.URLs[0].Failed(t, apierror.CodeOK, "")
	for i, tc := range cases {
		a.URLs[i+1].Failed(t, tc.want, tc.details)
	}
	echoed := a.URLs[9]
	if *echoed.LongURL != "https://example.com/" || *echoed.CustomHash != "taken" {
		t.Errorf("values of the failed item: %+v", echoed)
	}
	httpapitest.Equal(t, "total", c.Must("GET", "/v3/urls", "").Page.TotalCount, 2)

	edits := []struct {
		fields string
		want   apierror.Code
	}{
		{`"custom_hash":"taken"`, apierror.CodeHashUnavailable},
		{`"long_url":"x:y"`, apierror.CodeURLNotAllowed},
		{`"long_url":"mailto:a@example.com"`, apierror.CodeInvalidURL},
		{`"expiration_date":"soon"`, apierror.CodeInvalidDate},
		{`"max_clicks":-1`, apierror.CodeWrongInput},
		{`"tags":["-none"]`, apierror.CodeTagNotFound},
		{`"tags":["+a\"b"]`, apierror.CodeInvalidLabel},
	}
	for _, tc := range edits {
		a := c.Call("PATCH", "/v3/urls/fine", `{"urls":[{`+tc.fields+`}]}`)
		a.Is(http.StatusOK, apierror.CodeOK)
		a.URLs[0].Failed(t, tc.want, "")
		httpapitest.Equal(t, "hash of the failed edit", a.URLs[0].Hash, "fine")
	}
}

// TestLoopToTheHostOfTheRequest checks that without a base URL a link to the host of the request is refused as a loop,
// in every call and in every spelling.
func TestLoopToTheHostOfTheRequest(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t, func(cfg *httpapi.Config) { cfg.BaseURL = "" })
	c := s.Client(t, "alice")
	loop := func(host string) httpapitest.With { return func(r *http.Request) { r.Host = host } }
	for host, links := range map[string][]string{
		"links.example":       {"http://links.example/x", "https://LINKS。example./x", "http://links.example:0080"},
		"links.example:80":    {"https://links.example/x"},
		"127.0.0.1:8080":      {"http://127.1:8080/x", "http://0x7f000001:08080/", "http://[::ffff:127.0.0.1]:8080"},
		"[::1]:8080":          {"http://[0:0::1]:8080/x"},
		"xn--krz-hoa.example": {"https://kürz.example", "https://kürz.example"},
	} {
		for i, link := range links {
			body := `{"urls":[{"long_url":"` + link + `"}]}`
			c.Call("POST", "/v3/urls", body, loop(host)).URLs[0].Failed(
				t, apierror.CodeURLNotAllowed, "back to this service",
			)
			hash := c.Create(`"long_url":"` + link + `"`).Hash // through another host
			c.Must("PATCH", "/v3/urls/"+hash, `{"urls":[{"long_url":"https://example.com/"}]}`)
			c.Call("PATCH", "/v3/urls/"+hash, body, loop(host)).URLs[0].Failed(
				t, apierror.CodeURLNotAllowed, "back to this service",
			)
			c.Call("POST", "/v3/urls/"+hash+"/restore", `{"version":0}`, loop(host)).Is(
				http.StatusBadRequest, apierror.CodeURLNotAllowed,
			)
			changed := c.Must("PATCH", "/v3/urls/"+hash, `{"urls":[{"note":"`+strconv.Itoa(i)+`"}]}`, loop(host))
			httpapitest.Equal(t, "edits of other fields", changed.URLs[0].Note, strconv.Itoa(i))
		}
		c.Must(
			"POST", "/v3/urls",
			`{"urls":[{"long_url":"http://links.example:8081"},{"long_url":"http://127.0.0.1:8081"}]}`, loop(host),
		)
	}
}

func TestRestore(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "demo")
	c.Create(`"long_url":"https://example.com/1","custom_hash":"one","note":"first","tags":["red"]`)
	httpapitest.Send(t, s.Server, http.MethodGet, "/one", "", httpapitest.From("192.0.2.1:1", "Firefox"))
	c.Must(http.MethodPatch, "/v3/urls/one", `{"urls":[{"note":"second","long_url":"https://example.com/2"}]}`)
	c.Must(http.MethodDelete, "/v3/urls/one", "")
	c.Call(http.MethodGet, "/v3/urls/one", "").Is(http.StatusNotFound, apierror.CodeURLNotFound)
	httpapitest.Equal(t, "visit of a deleted one", httpapitest.Send(t, s.Server, http.MethodGet, "/one", "").Status, http.StatusGone)

	back := c.Must(http.MethodPost, "/v3/urls/one/restore", "").URLs[0]
	httpapitest.Equal(t, "note", back.Note, "second")
	httpapitest.Equal(t, "clicks", back.TotalClicks, 1)
	c.Must(http.MethodPost, "/v3/urls/one/restore", `{"version":null}`) // changes nothing
	redirected := httpapitest.Send(t, s.Server, http.MethodGet, "/one", "", httpapitest.From("192.0.2.1:1", "Firefox"))
	httpapitest.Equal(t, "visit", redirected.Header.Get("Location"), "https://example.com/2")
	httpapitest.Equal(t, "listed", c.Must(http.MethodGet, "/v3/urls?tags=red", "").Page.TotalCount, 1)
	httpapitest.Equal(t, "counted", c.Counter("urls"), 1)

	c.Must(http.MethodPost, "/v3/urls/one/restore", `{"version":0}`)
	first := c.Read("one")
	httpapitest.Equal(t, "note", first.Note, "first")
	httpapitest.Equal(t, "long URL", *first.LongURL, "https://example.com/1")
	httpapitest.Equal(t, "tags", strings.Join(first.Tags, " "), "red")
	httpapitest.Equal(t, "clicks", first.TotalClicks, 2)
}

func TestDisableLongURLDuplicates(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c, bob := s.Client(t, "alice"), s.Client(t, "bob")
	const one, two = `"long_url":"https://example.com/1"`, `"long_url":"https://example.com/2"`
	unique := func(c *httpapitest.Client, flag, fields string) httpapitest.Item {
		t.Helper()
		a := c.Call("POST", "/v3/urls?disable_long_url_duplicates="+flag, `{"urls":[{`+fields+`}]}`)
		a.Is(http.StatusOK, apierror.CodeOK)
		return a.URLs[0]
	}
	total := func(want int64) {
		t.Helper()
		httpapitest.Equal(t, "total", c.Must("GET", "/v3/urls", "").Page.TotalCount, want)
	}

	// Rule 3: without the parameter a long URL can have several links. The oldest one counts as the
	// existing one.
	oldest := c.Create(one + `,"tags":["t"],"note":"first"`)
	for _, off := range []string{"", "0", "false"} {
		if again := unique(c, off, one); again.Hash == oldest.Hash {
			t.Errorf("%q: the existing link was returned", off)
		}
	}
	total(4)
	// Rule 4.
	s.Visit(t, "GET", "/"+oldest.Hash)
	s.CatchUp(t)
	for _, on := range []string{"1", "true", "account"} {
		got := unique(c, on, one+`,"note":"ignored","tags":["u"]`)
		httpapitest.Equal(t, "hash", got.Hash, oldest.Hash)
		httpapitest.Equal(t, "kept", got.Note+" "+strings.Join(got.Tags, ","), "first t")
		httpapitest.Equal(t, "clicks", got.TotalClicks, 1)
		got.Failed(t, apierror.CodeOK, "")
	}
	total(4)
	if hers := unique(bob, "1", one); hers.Hash == oldest.Hash {
		t.Error("another account's link was returned")
	}
	// Rule 5.
	httpapitest.Equal(t, "new hash", unique(c, "1", one+`,"custom_hash":"mine"`).Hash, "mine")
	total(5)
	httpapitest.Equal(t, "same long URL", unique(c, "1", one+`,"custom_hash":"mine"`).Hash, "mine")
	refused := unique(c, "1", two+`,"custom_hash":"mine"`)
	refused.Failed(t, apierror.CodeHashUnavailable, "in use")
	httpapitest.Equal(t, "echo", *refused.LongURL+" "+*refused.CustomHash, "https://example.com/2 mine")
	unique(bob, "1", one+`,"custom_hash":"mine"`).Failed(t, apierror.CodeHashUnavailable, "in use")
	total(5)

	// A link that was edited to this long URL also exists, and one that was edited away from it
	// does not.
	c.Must("PATCH", "/v3/urls/mine", `{"urls":[{`+two+`}]}`)
	httpapitest.Equal(t, "edited", unique(c, "1", two).Hash, "mine")
	c.Must("PATCH", "/v3/urls/mine", `{"urls":[{`+one+`}]}`)
	if got := unique(c, "1", two); got.Hash == "mine" {
		t.Error("a link that leads elsewhere was returned")
	}
	total(6)

	batch := c.Must("POST", "/v3/urls?disable_long_url_duplicates=account", `{"urls":[{"long_url":"https://example.com/3"},{`+one+`},
		{"long_url":"https://example.com/3"},{"long_url":"https://example.com/3","note":"x"}]}`)
	httpapitest.Equal(t, "existing", batch.URLs[1].Hash, oldest.Hash)
	httpapitest.Equal(t, "equal items", batch.URLs[2].Hash+batch.URLs[3].Hash, batch.URLs[0].Hash+batch.URLs[0].Hash)
	total(7)
}
