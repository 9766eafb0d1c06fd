package urls_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"linkledger/httpapi"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contracttest"
	"linkledger/httpapi/httpapitest"
)

func TestContractOfCreations(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	const whole = `"hash":"Spring-26","long_url":"https://example.com/a?b=1&c=<d>","short_url":"sho.rt/Spring-26",
		"short_url_with_protocol":"http://sho.rt/Spring-26","total_clicks":0,"unique_clicks":0,"last_visit":null,"visited":false,
		"email_stats":true,"protected":false,"ping":false,"archived":false,"note":"a note that is longer tha","expiration_date":"2026-06-01",
		"max_clicks":7,"tags":["News","red tape"],"created_at":"2026-05-14T12:00:00+00:00","modified_at":"2026-05-14T12:00:00+00:00",
		"links":{"qr_small":"http://sho.rt/Spring-26/qr.png?size=small","qr_big":"http://sho.rt/Spring-26/qr.png?size=big"}`
	const success = `"error":{"code":0,"message":"","details":""}`
	long := func(n int) string { return "https://e.x/" + strings.Repeat("é", n-len("https://e.x/")) }
	item := func(fields string) string { return `{"urls":[{` + fields + `}]}` }
	const some = `"long_url":"https://example.com/"`
	c := s.Client(t, "alice")
	contracttest.Hold(c, []contracttest.Row{
		{
			"all fields; unknown ones are ignored", "POST /v3/urls",
			item(`"long_url":"https://example.com/a?b=1&c=<d>","custom_hash":"Spring-26","note":"a note that is longer than it may be",
				"email_stats":true,"expiration_date":"2026-06-01","max_clicks":7,"tags":["News","red tape"],"unknown":[1]`),
			200, apierror.CodeOK, `{"urls":[{` + whole + `,` + success + `}]}`, "/v3/urls/Spring-26",
			`{"urls":[{` + whole + `}],"page":{"results_count":1,"total_count":1,"offset":0}}`,
		},
		{
			"defaults; null is not given", "POST /v3/urls",
			item(
				some +
					`,"custom_hash":null,"note":null,"email_stats":null,"expiration_date":null,"max_clicks":null,"tags":null`,
			),
			200, apierror.CodeOK,
			`{"urls":[{"hash":"~^[2-9a-hjkmnp-z]{7}$","note":"","email_stats":false,"ping":false,"protected":false,"archived":false,
				"expiration_date":null,"max_clicks":0,"tags":[],` + success + `}]}`, "/v3/urls",
			`{"page":{"total_count":2}}`,
		},
		{
			"rule 1 and 2: items are judged for themselves, a failed one is echoed", "POST /v3/urls",
			`{"urls":[{"long_url":"https://example.com/1","custom_hash":"one"},{"long_url":"https://example.com/2","custom_hash":"one"}]}`,
			200, apierror.CodeOK,
			`{"urls":[{"hash":"one",` + success + `},{"long_url":"https://example.com/2","custom_hash":"one",
				"error":{"code":1215,"message":"Short URL is not correct or existed","details":"~in use"}}]}`,
			"/v3/urls/one", `{"urls":[{"long_url":"https://example.com/1"}]}`,
		},
		{
			"a refused item does not echo what was not sent", "POST /v3/urls", item(`"note":"x"`),
			200, apierror.CodeOK, `{"urls":[{"long_url":null,"custom_hash":null,"error":{"code":1305}}]}`, "/v3/urls",
			`{"page":{"total_count":3}}`,
		},
		{
			"rule 3: several links to one long URL", "POST /v3/urls", item(some) + " ",
			200, apierror.CodeOK, `{"urls":[{` + some + `}]}`, "/v3/urls?search=https://example.com/",
			`{"page":{"total_count":4}}`,
		},
		{
			"rule 6: more items than the group limit", "POST /v3/urls", httpapitest.Batch(51), 400, apierror.CodeBatchLimit, "",
			"/v3/urls", `{"page":{"total_count":4}}`,
		},
		{
			"long_url: 2048 code points", "POST /v3/urls", item(`"long_url":"` + long(2048) + `","custom_hash":"long"`),
			200, apierror.CodeOK, `{"urls":[{` + success + `}]}`, "/v3/urls/long",
			`{"urls":[{"long_url":"` + long(2048) + `"}]}`,
		},
		{
			"long_url: one more", "POST /v3/urls", item(`"long_url":"` + long(2049) + `"`), 200, apierror.CodeOK,
			`{"urls":[{"error":{"code":1216}}]}`, "", "",
		},
		{
			"custom_hash: 25 characters", "POST /v3/urls",
			item(some + `,"custom_hash":"` + strings.Repeat("_-", 12) + `A"`),
			200, apierror.CodeOK, `{"urls":[{` + success + `}]}`, "/v3/urls/" + strings.Repeat("_-", 12) + "A",
			`{"urls":[{` + some + `}]}`,
		},
		{
			"custom_hash: case counts", "POST /v3/urls", item(some + `,"custom_hash":"ONE"`),
			200, apierror.CodeOK, `{"urls":[{"hash":"ONE",` + success + `}]}`, "/v3/urls/one",
			`{"urls":[{"long_url":"https://example.com/1"}]}`,
		},
		{
			"custom_hash: a path of ours", "POST /v3/urls",
			item(some + `,"custom_hash":"robots_txt"},{` + some + `,"custom_hash":"console"`), 200, apierror.CodeOK,
			`{"urls":[{"hash":"robots_txt"},{"error":{"code":1215,"details":"~reserved"}}]}`, "", "",
		},
		{
			"note: 25 code points are kept", "POST /v3/urls",
			item(some + `,"custom_hash":"noted","note":"` + strings.Repeat("é", 26) + `"`),
			200, apierror.CodeOK, `{"urls":[{"note":"` + strings.Repeat("é", 25) + `"}]}`, "/v3/urls/noted",
			`{"urls":[{"note":"` + strings.Repeat("é", 25) + `"}]}`,
		},
		{
			"expiration_date: past", "POST /v3/urls",
			item(some + `,"custom_hash":"past","expiration_date":"0001-01-01"`),
			200, apierror.CodeOK, `{"urls":[{` + success + `}]}`, "/v3/urls/past",
			`{"urls":[{"expiration_date":"0001-01-01"}]}`,
		},
		{
			"tags: missing ones are created, each once", "POST /v3/urls",
			item(some + `,"custom_hash":"tagged","tags":["new","NEW","news"]`),
			200, apierror.CodeOK, `{"urls":[{"tags":["new","News"]}]}`, "/v3/tags",
			`{"tags":[{"label":"News"},{"label":"red tape"},{"label":"new"}]}`,
		},
		{
			"50 items", "POST /v3/urls", httpapitest.Batch(50), 200, apierror.CodeOK, "", "/v3/urls",
			`{"page":{"results_count":50,"total_count":61,"offset":0}}`,
		},
	})
}

func TestContractOfEdits(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	c.Create(`"long_url":"https://example.com/1","custom_hash":"one","tags":["a","b"],"expiration_date":"2026-06-01"`)
	c.Create(`"long_url":"https://example.com/2","custom_hash":"other"`)
	const edited = `"long_url":"https://example.com/3","note":"n","email_stats":true,"ping":true,"protected":true,"archived":true,
		"expiration_date":null,"max_clicks":3,"tags":["b","c","d"]`
	const success = `"error":{"code":0,"message":"","details":""}`
	item := func(fields string) string { return `{"urls":[{` + fields + `}]}` }
	contracttest.Hold(c, []contracttest.Row{
		{
			"all fields", "PATCH /v3/urls/one",
			item(`"long_url":"https://example.com/3","note":"n","email_stats":true,"ping":true,
				"protected":true,"archived":true,"expiration_date":null,"max_clicks":3,"tags":["-A","+c","d"]`),
			200, apierror.CodeOK, `{"urls":[{` + edited + `,` + success + `}]}`, "/v3/urls/one",
			`{"urls":[{` + edited + `}]}`,
		},
		{
			"null is not given", "PATCH /v3/urls/one",
			item(
				`"long_url":null,"note":null,"email_stats":null,"ping":null,"protected":null,"archived":null,"max_clicks":null,"tags":null,"custom_hash":null`,
			),
			200, apierror.CodeOK, `{"urls":[{` + edited + `}]}`, "/v3/urls/one", `{"urls":[{` + edited + `}]}`,
		},
		{"nothing given", "PATCH /v3/urls/one", item(""), 200, apierror.CodeOK, `{"urls":[{` + edited + `}]}`, "", ""},
		{
			"expiration_date", "PATCH /v3/urls/one", item(`"expiration_date":"2026-07-01"`),
			200, apierror.CodeOK, `{"urls":[{"expiration_date":"2026-07-01"}]}`, "/v3/urls/one",
			`{"urls":[{"expiration_date":"2026-07-01"}]}`,
		},
		{
			"expiration_date: an empty text removes it", "PATCH /v3/urls/one", item(`"expiration_date":""`),
			200, apierror.CodeOK, `{"urls":[{"expiration_date":null}]}`, "/v3/urls/one",
			`{"urls":[{"expiration_date":null}]}`,
		},
		{
			"empty texts and false are values", "PATCH /v3/urls/one",
			item(`"note":"","email_stats":false,"ping":false,"archived":false,"max_clicks":0`),
			200, apierror.CodeOK, "", "/v3/urls/one",
			`{"urls":[{"note":"","email_stats":false,"ping":false,"archived":false,"max_clicks":0,"protected":true}]}`,
		},
		{
			"tags: the missing tag of a detachment, and nothing else is done", "PATCH /v3/urls/one",
			item(`"note":"x","tags":["+e","-none"]`),
			200, apierror.CodeOK, `{"urls":[{"hash":"one","error":{"code":1309}}]}`, "/v3/urls/one",
			`{"urls":[{"note":"","tags":["b","c","d"]}]}`,
		},
		{
			"custom_hash in use", "PATCH /v3/urls/one", item(`"custom_hash":"other"`),
			200, apierror.CodeOK, `{"urls":[{"hash":"one","custom_hash":"other","error":{"code":1215}}]}`,
			"/v3/urls/other", `{"urls":[{"long_url":"https://example.com/2"}]}`,
		},
		{
			"custom_hash", "PATCH /v3/urls/one", item(`"custom_hash":"two"`),
			200, apierror.CodeOK,
			`{"urls":[{"hash":"two","short_url":"sho.rt/two","long_url":"https://example.com/3"}]}`, "/v3/urls/two",
			`{"urls":[{"hash":"two"}]}`,
		},
		{"the former hash", "GET /v3/urls/one", "", 404, apierror.CodeURLNotFound, "", "", ""},
		{
			"a former hash may come back", "PATCH /v3/urls/two", item(`"custom_hash":"one"`),
			200, apierror.CodeOK, `{"urls":[{"hash":"one",` + success + `}]}`, "/v3/urls/one",
			`{"urls":[{"long_url":"https://example.com/3"}]}`,
		},
		{
			"the same for several; the order and the missing ones", "PATCH /v3/urls?hashes=other%2Cnone,one",
			item(`"note":"same"`),
			200, apierror.CodeOK,
			`{"urls":[{"hash":"other","note":"same"},{"hash":"none","error":{"code":1306}},{"hash":"one","note":"same"}]}`,
			"/v3/urls?search=same", `{"page":{"total_count":2}}`,
		},
		{
			"each its own", "PATCH /v3/urls", `{"urls":[{"hash":"other","note":"1"},{"hash":"one","note":"2"}]}`,
			200, apierror.CodeOK, `{"urls":[{"note":"1"},{"note":"2"}]}`, "/v3/urls/other", `{"urls":[{"note":"1"}]}`,
		},
		{
			"by tags: no URLs are answered", "PATCH /v3/urls?tags=%2Bb",
			item(
				`"note":"t","expiration_date":"2030-01-01","max_clicks":9,"email_stats":true,"ping":true,"protected":true,"archived":true`,
			),
			200, apierror.CodeOK, `= {"error":{"code":0,"message":""},"version":"3.1","urls":[]}`, "/v3/urls/one",
			`{"urls":[{"note":"t","expiration_date":"2030-01-01","max_clicks":9,"email_stats":true,"ping":true,"protected":true,"archived":true}]}`,
		},
		{
			"by tags: other fields", "PATCH /v3/urls?tags=b", item(`"note":"u","long_url":"https://example.com/9"`),
			400, apierror.CodeWrongInput, "", "/v3/urls/one", `{"urls":[{"note":"t"}]}`,
		},
		{
			"a protected URL stays", "DELETE /v3/urls/one", "", 403, apierror.CodeAccessDenied, "", "/v3/urls/one",
			`{"urls":[{"hash":"one"}]}`,
		},
		{
			"in a group too, without an error", "DELETE /v3/urls?hashes=one%2Cother%2Cnone", "", 200, apierror.CodeOK,
			contracttest.Done, "/v3/urls", `{"urls":[{"hash":"one"}],"page":{"total_count":1}}`,
		},
		{
			"unprotected", "PATCH /v3/urls/one", item(`"protected":false`), 200, apierror.CodeOK,
			`{"urls":[{"protected":false}]}`, "", "",
		},
		{
			"deletion", "DELETE /v3/urls/one", "", 200, apierror.CodeOK, contracttest.Done, "/v3/urls",
			`{"urls":[],"page":{"total_count":0}}`,
		},
		{"a deleted URL", "GET /v3/urls/one", "", 404, apierror.CodeURLNotFound, "", "", ""},
		{"cannot be deleted again", "DELETE /v3/urls/one", "", 404, apierror.CodeURLNotFound, "", "", ""},
		{"nor edited", "PATCH /v3/urls/one", item(`"note":"x"`), 404, apierror.CodeURLNotFound, "", "", ""},
		{
			"its owner may have the hash again", "POST /v3/urls",
			item(`"long_url":"https://example.com/4","custom_hash":"one"`),
			200, apierror.CodeOK, `{"urls":[{"hash":"one","note":"","tags":[],` + success + `}]}`, "/v3/urls/one",
			`{"urls":[{"long_url":"https://example.com/4"}]}`,
		},
		{
			"deletion by tags", "DELETE /v3/urls?tags=~visited", "", 200, apierror.CodeOK, contracttest.Done, "/v3/urls",
			`{"page":{"total_count":0}}`,
		},
	})
}

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

// TestLoopToTheHostOfTheRequest checks that without a base URL a link to the host of the request is
// refused as a loop, whatever call sets it and however it is written.
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
