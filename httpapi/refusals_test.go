package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"

	"linkledger/httpapi"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
)

func TestRefusals(t *testing.T) { //nolint:tparallel // its end waits for the calls
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	c.Create(`"long_url":"https://example.com/","custom_hash":"one","tags":["t"]`)
	c.Must("PATCH", "/v3/urls/one", `{"urls":[{"protected":true}]}`)
	labels := make([]string, httpapitest.TagsOfOneCall+1)
	for i := range labels {
		labels[i] = fmt.Sprintf(`"l%d"`, i)
	}
	type refusal struct {
		method, path, body string
		status             int
		want               apierror.Code
		details            string
	}
	cases := []refusal{
		{"GET", "/v3", "", 404, apierror.CodeInvalidResource, ""},
		{"GET", "/v3/", "", 404, apierror.CodeInvalidResource, ""},
		{"GET", "/v3/nothing", "", 404, apierror.CodeInvalidResource, ""},
		{"GET", "/v3/urls/one/two", "", 404, apierror.CodeInvalidResource, ""},
		{"GET", "/v3//urls", "", 404, apierror.CodeInvalidResource, ""},
		{"GET", "/v3/urls//", "", 404, apierror.CodeInvalidResource, ""},
		{"GET", "/v3/x/%2e%2e/urls", "", 404, apierror.CodeInvalidResource, ""},
		{"GET", "/v3/urls/%2e", "", 400, apierror.CodeInvalidHash, ""},

		{"PUT", "/v3/urls", "", 405, apierror.CodeMethodNotSupported, "DELETE, GET, HEAD, OPTIONS, PATCH, POST"},
		{"GET", "/v3/stats", "", 405, apierror.CodeMethodNotSupported, "DELETE, OPTIONS"},
		{"PATCH", "/v3/stats/one", "", 405, apierror.CodeMethodNotSupported, "DELETE, GET, HEAD, OPTIONS"},
		{"POST", "/v3/account/", "", 405, apierror.CodeMethodNotSupported, "GET, HEAD, OPTIONS"},
		{"BREW", "/v3/tags/t", "", 405, apierror.CodeMethodNotSupported, "DELETE, OPTIONS, PATCH"},
		{"GET", "/v3/tags/t", "", 405, apierror.CodeMethodNotSupported, "DELETE, OPTIONS, PATCH"},

		{"POST", "/v3/urls", "", 400, apierror.CodeMissingInput, "urls"},
		{"POST", "/v3/urls", "{}", 400, apierror.CodeMissingInput, "urls"},
		{"POST", "/v3/urls", `{"urls":null}`, 400, apierror.CodeMissingInput, "urls"},
		{"POST", "/v3/urls", `{"urls":[]}`, 400, apierror.CodeMissingInput, "urls"},
		{"POST", "/v3/urls", `{"URLS":[{"long_url":"https://example.com"}]}`, 400, apierror.CodeMissingInput, "urls"},
		{"POST", "/v3/tags", "{}", 400, apierror.CodeMissingInput, "label"},
		{"PATCH", "/v3/tags/t", `{"label":null}`, 400, apierror.CodeMissingInput, "label"},
		{"PATCH", "/v3/urls/one", `{"urls":[]}`, 400, apierror.CodeMissingInput, "urls"},

		{"POST", "/v3/urls", httpapitest.Batch(51), 400, apierror.CodeBatchLimit, "50 URLs, not 51"},
		{"PATCH", "/v3/urls/one", `{"urls":[{},{}]}`, 400, apierror.CodeWrongInput, "one item"},

		{"POST", "/v3/urls", `{"urls":[`, 400, apierror.CodeWrongInput, "JSON"},
		{"POST", "/v3/urls", `[]`, 400, apierror.CodeWrongInput, "object"},
		{"POST", "/v3/urls", `null`, 400, apierror.CodeWrongInput, "object"},
		{"POST", "/v3/urls", `{} {}`, 400, apierror.CodeWrongInput, "continues after"},
		{"POST", "/v3/urls", "{\"urls\":\"\xff\"}", 400, apierror.CodeWrongInput, "UTF-8"},
		{"POST", "/v3/urls", strings.Repeat("[", 20_000), 400, apierror.CodeWrongInput, "JSON"},
		{"POST", "/v3/urls", `{"urls":{}}`, 400, apierror.CodeWrongInput, "urls must be an array of objects"},
		{"POST", "/v3/urls", `{"urls":"x"}`, 400, apierror.CodeWrongInput, "urls must be an array of objects"},
		{"POST", "/v3/urls", `{"urls":[{},5]}`, 400, apierror.CodeWrongInput, "urls[1] must be an object"},
		{
			"POST", "/v3/urls", `{"urls":[{"long_url":5}]}`, 400, apierror.CodeWrongInput,
			"urls[0].long_url must be a string",
		},
		{
			"POST", "/v3/urls", `{"urls":[{},{"custom_hash":{}}]}`, 400, apierror.CodeWrongInput,
			"urls[1].custom_hash must be a string",
		},
		{
			"POST", "/v3/urls", `{"urls":[{"email_stats":1}]}`, 400, apierror.CodeWrongInput,
			"urls[0].email_stats must be true or false",
		},
		{
			"POST", "/v3/urls", `{"urls":[{"email_stats":"true"}]}`, 400, apierror.CodeWrongInput,
			"urls[0].email_stats must be true or false",
		},
		{
			"POST", "/v3/urls", `{"urls":[{"max_clicks":1.5}]}`, 400, apierror.CodeWrongInput,
			"urls[0].max_clicks must be an integer",
		},
		{
			"POST", "/v3/urls", `{"urls":[{"max_clicks":"1"}]}`, 400, apierror.CodeWrongInput,
			"urls[0].max_clicks must be an integer",
		},
		{"POST", "/v3/urls", `{"urls":[{"max_clicks":99999999999999999999}]}`, 400, apierror.CodeWrongInput, "integer"},
		{
			"POST", "/v3/urls", `{"urls":[{"tags":"a,b"}]}`, 400, apierror.CodeWrongInput,
			"urls[0].tags must be an array of strings",
		},
		{
			"POST", "/v3/urls", `{"urls":[{"tags":["a",null]}]}`, 400, apierror.CodeWrongInput,
			"urls[0].tags[1] must be a string",
		},
		{
			"POST", "/v3/urls", `{"urls":[{"tags":[` + strings.Join(labels, ",") + `]}]}`, 400, apierror.CodeWrongInput,
			"different tags",
		},
		{"PATCH", "/v3/urls/one", `{"urls":[{"protected":"no"}]}`, 400, apierror.CodeWrongInput, "urls[0].protected"},
		{"POST", "/v3/tags", `{"label":["a"]}`, 400, apierror.CodeWrongInput, "label must be a string"},

		{"GET", "/v3/urls?limit=0", "", 400, apierror.CodeWrongInput, "limit must be at least 1"},
		{"GET", "/v3/urls?limit=-1", "", 400, apierror.CodeWrongInput, "limit must be at least 1"},
		{"GET", "/v3/urls?limit=many", "", 400, apierror.CodeWrongInput, "limit must be a number"},
		{"GET", "/v3/urls?offset=-1", "", 400, apierror.CodeWrongInput, "offset must be at least 0"},
		{"GET", "/v3/urls?offset=-99999999999999999999", "", 400, apierror.CodeWrongInput, "offset must be at least 0"},
		{"GET", "/v3/urls?offset=1.5", "", 400, apierror.CodeWrongInput, "offset must be a number"},
		{"GET", "/v3/urls?limit=1;offset=2", "", 400, apierror.CodeWrongInput, "limit must be a number"},
		{"GET", "/v3/urls?limit=%zz", "", 400, apierror.CodeWrongInput, "query"},
		{"GET", "/v3/urls?order_by=size", "", 400, apierror.CodeWrongInput, "created, modified, clicks or hash"},
		{"GET", "/v3/urls?order_by=--hash", "", 400, apierror.CodeWrongInput, "created, modified, clicks or hash"},
		{"GET", "/v3/urls?tags=t%20t", "", 400, apierror.CodeWrongInput, "at character 3"},
		{"GET", "/v3/urls?tags=(t", "", 400, apierror.CodeWrongInput, "closing bracket"},
		{"GET", "/v3/urls?tags=" + strings.Repeat("(", 99), "", 400, apierror.CodeWrongInput, "nested"},
		{"GET", "/v3/urls?tags=" + strings.Repeat("t,", 4000), "", 400, apierror.CodeWrongInput, "bytes"},
		{"GET", "/v3/urls?tags=%FF", "", 400, apierror.CodeWrongInput, "UTF-8"},
		{"GET", "/v3/urls?tags=t|none", "", 404, apierror.CodeTagNotFound, "none"},
		{"DELETE", "/v3/urls?tags=t&+u", "", 404, apierror.CodeTagNotFound, "u"},
		{"DELETE", "/v3/urls?tags=t&tags=~t", "", 400, apierror.CodeWrongInput, "tags is given more than once"},
		{"GET", "/v3/urls?hashes=one&hashes=two", "", 400, apierror.CodeWrongInput, "hashes is given more than once"},
		{"DELETE", "/v3/urls?tags=none", "", 404, apierror.CodeTagNotFound, "none"},
		{"DELETE", "/v3/stats?tags=~none", "", 404, apierror.CodeTagNotFound, "none"},
		{"DELETE", "/v3/urls?tags=t&hashes=one", "", 400, apierror.CodeWrongInput, "either"},
		{"PATCH", "/v3/urls?tags=t&hashes=one", `{"urls":[{}]}`, 400, apierror.CodeWrongInput, "either"},
		{"PATCH", "/v3/urls?tags=t", `{"urls":[{},{}]}`, 400, apierror.CodeWrongInput, "one item"},
		{"PATCH", "/v3/urls?tags=t", `{"urls":[]}`, 400, apierror.CodeMissingInput, "urls"},
		{
			"PATCH", "/v3/urls?tags=t", `{"urls":[{"long_url":"https://example.com/"}]}`, 400, apierror.CodeWrongInput,
			"can be edited",
		},
		{"PATCH", "/v3/urls?tags=t", `{"urls":[{"custom_hash":"x"}]}`, 400, apierror.CodeWrongInput, "can be edited"},
		{"PATCH", "/v3/urls?tags=t", `{"urls":[{"tags":["+x"]}]}`, 400, apierror.CodeWrongInput, "can be edited"},
		{"PATCH", "/v3/urls?tags=t", `{"urls":[{"expiration_date":"soon"}]}`, 400, apierror.CodeInvalidDate, "YYYY"},
		{"PATCH", "/v3/urls?tags=t", `{"urls":[{"max_clicks":-1}]}`, 400, apierror.CodeWrongInput, "max_clicks"},
		{
			"POST", "/v3/urls?disable_long_url_duplicates=maybe", httpapitest.Batch(1), 400, apierror.CodeWrongInput,
			"must be 1, true, account, 0 or false",
		},
		{"DELETE", "/v3/urls/one?hashes=two", "", 400, apierror.CodeWrongInput, "leave out"},
		{"PATCH", "/v3/urls/one?tags=t", `{"urls":[{}]}`, 400, apierror.CodeWrongInput, "leave out"},

		{"PATCH", "/v3/urls?hashes=one", `{"urls":[{},{}]}`, 400, apierror.CodeWrongInput, "one item"},
		{"PATCH", "/v3/urls", `{"urls":[{"note":"x"}]}`, 400, apierror.CodeMissingInput, "hashes"},
		{"PATCH", "/v3/urls?hashes=one", `{"urls":[]}`, 400, apierror.CodeMissingInput, "urls"},
		{"PATCH", "/v3/urls?hashes=one", "", 400, apierror.CodeMissingInput, "urls"},
		{"DELETE", "/v3/urls", "", 400, apierror.CodeMissingInput, "hashes"},
		{"DELETE", "/v3/stats", "", 400, apierror.CodeMissingInput, "hashes"},
		{"DELETE", "/v3/urls?hashes=%2C", "", 400, apierror.CodeMissingInput, "no hash"},
		{"DELETE", "/v3/urls?hashes=one,a.b", "", 400, apierror.CodeInvalidHash, "a.b"},
		{"GET", "/v3/urls?hashes=one,%00", "", 400, apierror.CodeInvalidHash, "1 to 25"},

		{"GET", "/v3/urls/a%20b", "", 400, apierror.CodeInvalidHash, "1 to 25"},
		{"GET", "/v3/urls/a%2Fb", "", 400, apierror.CodeInvalidHash, "1 to 25"},
		{"GET", "/v3/urls/%00", "", 400, apierror.CodeInvalidHash, "1 to 25"},
		{"GET", "/v3/urls/" + strings.Repeat("a", 26), "", 400, apierror.CodeInvalidHash, "1 to 25"},
		{"PATCH", "/v3/urls/%FF", `{"urls":[{}]}`, 400, apierror.CodeInvalidHash, "1 to 25"},
		{"DELETE", "/v3/urls/a.b", "", 400, apierror.CodeInvalidHash, "1 to 25"},
		{"GET", "/v3/stats/a.b", "", 400, apierror.CodeInvalidHash, "1 to 25"},
		{"GET", "/v3/urls/none", "", 404, apierror.CodeURLNotFound, ""},
		{"PATCH", "/v3/urls/none", `{"urls":[{"note":"x"}]}`, 404, apierror.CodeURLNotFound, ""},
		{"DELETE", "/v3/urls/none", "", 404, apierror.CodeURLNotFound, ""},
		{"GET", "/v3/stats/none", "", 404, apierror.CodeURLNotFound, ""},
		{"DELETE", "/v3/urls/one", "", 403, apierror.CodeAccessDenied, "protected"},
		{"DELETE", "/v3/tags/none", "", 404, apierror.CodeTagNotFound, ""},
		{"PATCH", "/v3/tags/%00", `{"label":"x"}`, 404, apierror.CodeTagNotFound, ""},
		{"POST", "/v3/tags", `{"label":""}`, 400, apierror.CodeInvalidLabel, "1 to 50"},
		{"POST", "/v3/tags", `{"label":"` + strings.Repeat("é", 51) + `"}`, 400, apierror.CodeInvalidLabel, "1 to 50"},
		{"POST", "/v3/tags", `{"label":"visited"}`, 400, apierror.CodeInvalidLabel, "meaning"},
		{"POST", "/v3/tags", `{"label":"a\"b"}`, 400, apierror.CodeInvalidLabel, "quotation mark"},

		{"GET", "/v3/urls/none/history", "", 404, apierror.CodeURLNotFound, ""},
		{"GET", "/v3/urls/n.n/history", "", 400, apierror.CodeInvalidHash, "1 to 25"},
		{"GET", "/v3/urls/one/history?limit=0", "", 400, apierror.CodeWrongInput, "limit must be at least 1"},
		{"GET", "/v3/urls/one/history?offset=x", "", 400, apierror.CodeWrongInput, "offset must be a number"},
		{"GET", "/v3/urls/one/history?tags=a", "", 400, apierror.CodeWrongInput, "leave out"},
		{"POST", "/v3/urls/one/history", "", 405, apierror.CodeMethodNotSupported, "GET, HEAD, OPTIONS"},
		{"GET", "/v3/urls/none/dimensions", "", 404, apierror.CodeURLNotFound, ""},
		{"GET", "/v3/urls/one/dimensions?from=soon", "", 400, apierror.CodeInvalidDate, "from must be"},
		{"GET", "/v3/urls/one/dimensions?from=0000-01-01", "", 400, apierror.CodeInvalidDate, "from must be"},
		{"GET", "/v3/urls/one/dimensions?to=2026-02-30", "", 400, apierror.CodeInvalidDate, "to must be"},
		{"GET", "/v3/urls/one/dimensions?to=0000-12-31", "", 400, apierror.CodeInvalidDate, "to must be"},
		{"GET", "/v3/urls/one/dimensions?limit=0", "", 400, apierror.CodeWrongInput, "limit must be at least 1"},
		{"GET", "/v3/urls/one/dimensions?limit=x", "", 400, apierror.CodeWrongInput, "limit must be a number"},
		{"POST", "/v3/urls/one/dimensions", "", 405, apierror.CodeMethodNotSupported, "GET, HEAD, OPTIONS"},
		{"POST", "/v3/urls/none/restore", "", 404, apierror.CodeURLNotFound, ""},
		{"POST", "/v3/urls/n.n/restore", "", 400, apierror.CodeInvalidHash, "1 to 25"},
		{"POST", "/v3/urls/one/restore", `{"version":99}`, 400, apierror.CodeWrongInput, ""},
		{"POST", "/v3/urls/one/restore", `{"version":"x"}`, 400, apierror.CodeWrongInput, "version must be an integer"},
		{"POST", "/v3/urls/one/restore", `{"revision":0}`, 400, apierror.CodeWrongInput, "takes a version"},
		{"POST", "/v3/batches/" + uuid.Nil.String() + "/undo", "", 404, apierror.CodeURLNotFound, "batch"},
		{"POST", "/v3/batches/1/undo", "", 400, apierror.CodeWrongInput, "UUID"},
		{"GET", "/v3/batches/x/undo", "", 405, apierror.CodeMethodNotSupported, "OPTIONS, POST"},

		{"GET", "/v3/account?at=2001-01-01", "", 400, apierror.CodeInvalidDate, "opened on"},
		{"GET", "/v3/urls?at=2026-05-14&order_by=-clicks", "", 400, apierror.CodeWrongInput, "ordered by clicks"},
		{"GET", "/v3/urls?at=2026-05-14&tags=~Visited", "", 400, apierror.CodeWrongInput, "chosen by visited"},
		{"GET", "/v3/urls?tags=%3E0000-01-01", "", 400, apierror.CodeWrongInput, ""},
	}
	for _, at := range []string{
		"yesterday", "2026-02-30", "9999-12-31", "2026-05-14T13:00:00Z", "0000-12-31", "0000-06-01T00:00:00Z",
		"0001-01-01T00:00:00%2B23:59",
	} {
		for _, path := range []string{"/v3/urls", "/v3/urls/one", "/v3/account"} {
			cases = append(cases, refusal{"GET", path + "?at=" + at, "", 400, apierror.CodeInvalidDate, "at "})
		}
	}
	// What these calls return or do would be about the present.
	for _, present := range [][3]string{
		{"POST", "/v3/urls?", httpapitest.Batch(1)},
		{"PATCH", "/v3/urls?tags=t&", `{"urls":[{"archived":true}]}`},
		{"DELETE", "/v3/urls?tags=t&", ""},
		{"DELETE", "/v3/urls/one?", ""},
		{"GET", "/v3/urls/one/dimensions?", ""},
		{"GET", "/v3/urls/one/history?", ""},
		{"GET", "/v3/stats/one?", ""},
		{"DELETE", "/v3/stats/one?", ""},
		{"GET", "/v3/tags?", ""},
		{"DELETE", "/v3/tags/t?", ""},
	} {
		cases = append(cases, refusal{
			present[0], present[1] + "at=2026-05-14", present[2], 400, apierror.CodeWrongInput, "about now",
		})
	}
	t.Run("calls", func(t *testing.T) {
		for _, tc := range cases {
			name := tc.method + " " + tc.path + " " + tc.body
			t.Run(name[:min(len(name), 90)], func(t *testing.T) {
				t.Parallel()
				c := *c
				c.T = t
				a := c.Call(tc.method, tc.path, tc.body)
				a.Is(tc.status, tc.want)
				a.Has(tc.details)
				if tc.want == apierror.CodeMethodNotSupported {
					httpapitest.Equal(t, "Allow", a.Header.Get("Allow"), tc.details)
				}
				if len(a.Error.Details) > 4*httpapitest.DetailsLength {
					t.Errorf("details have %d bytes", len(a.Error.Details))
				}
			})
		}
	})
	httpapitest.Equal(t, "URLs", c.Must("GET", "/v3/urls", "").Page.TotalCount, 1)
	httpapitest.Equal(t, "tags", len(c.Must("GET", "/v3/tags", "").Tags), 1)
	httpapitest.Equal(t, "archived", c.Read("one").Archived, false)
}

func TestNoSecretIsLogged(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	c.Call(
		"POST", "/v3/urls?x=query", `{"urls":[{"long_url":"https://example.com/secret"}]}`,
		httpapitest.Header("X-Request-Id", "req-1"),
	)
	if len(
		s.Log.Matching(
			"msg=request ", "method=POST", "route=/v3/urls", "status=200", "request=req-1", "account=alice",
			"duration=",
		),
	) != 1 {
		t.Errorf("the log does not have the call:\n%s", strings.Join(s.Log.Matching(), ""))
	}
	for _, secret := range []string{c.Key, "secret", "query", "Basic"} {
		if found := s.Log.Matching(secret); len(found) > 0 {
			t.Errorf("the log contains %q: %s", secret, found)
		}
	}
}

func TestRequestID(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	for sent, taken := range map[string]bool{
		"abc-DEF_1.2": true, strings.Repeat("x", 64): true,
		"": false, strings.Repeat("x", 65): false, "a b": false, "a\"b": false, "é": false,
	} {
		for _, path := range []string{"/v3/urls", "/none"} {
			got := httpapitest.Send(t, s.Server, "GET", path, "", httpapitest.Header("X-Request-Id", sent)).Header.Get("X-Request-Id")
			if taken {
				httpapitest.Equal(t, path, got, sent)
			} else if _, err := uuid.Parse(got); err != nil {
				t.Errorf("%s: the request id %q became %q; want a new one", path, sent, got)
			}
		}
	}
}

func TestOptionsAndHead(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	c.Create(`"long_url":"https://example.com/","custom_hash":"one"`)
	served := httptest.NewServer(s.Server)
	defer served.Close()
	do := func(method, path string) *httpapitest.Answer {
		t.Helper()
		r, err := http.NewRequestWithContext(httpapitest.WithTimeout(t), method, served.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if method == "HEAD" {
			r.SetBasicAuth(c.Username, c.Key)
		}
		response, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		return httpapitest.AnswerOf(t, response)
	}
	for path, allow := range map[string]string{
		"/v3/urls/": "DELETE, GET, HEAD, OPTIONS, PATCH, POST", "/v3/urls/one": "DELETE, GET, HEAD, OPTIONS, PATCH",
	} {
		a := do("OPTIONS", path)
		a.Is(200, apierror.CodeOK)
		httpapitest.Equal(t, "Allow", a.Header.Get("Allow"), allow)
	}
	for path, status := range map[string]int{
		"/v3/urls": 200, "/v3/urls/one/": 200, "/v3/urls/none": 404, "/one": 302, "/none": 404, "/one/qr.png": 200,
	} {
		a := do("HEAD", path)
		if a.Status != status || a.Body != "" || a.Header.Get("Content-Length") == "" {
			t.Errorf("HEAD %s is %d with %q", path, a.Status, a.Body)
		}
	}
	a := do("OPTIONS", "/one")
	httpapitest.Equal(t, "status", a.Status, http.StatusNoContent)
	httpapitest.Equal(t, "Allow", a.Header.Get("Allow"), "GET, HEAD, OPTIONS")
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

func TestOutages(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t, func(cfg *httpapi.Config) { cfg.RequestTimeout = httpapitest.Timeout / 40 })
	c := s.Client(t, "alice")
	c.Create(`"long_url":"https://example.com/","custom_hash":"one"`)
	s.Server.SetRequestTimeout(short / 3)
	s.Events.Stop()
	calls := [][3]string{
		{"POST", "/v3/urls", httpapitest.Batch(2)},
		{"PATCH", "/v3/urls/one", `{"urls":[{"note":"x"}]}`},
		{"DELETE", "/v3/urls/one", ""},
		{"POST", "/v3/tags", `{"label":"x"}`},
		{"GET", "/one", ""},
	}
	outage := func(calls [][3]string) {
		t.Helper()
		for _, call := range calls {
			a := c.Call(
				call[0], call[1], call[2], httpapitest.Header("X-Request-Id", "outage"), httpapitest.Header("Accept", "application/json"),
			)
			a.Is(http.StatusServiceUnavailable, apierror.CodeUnknown)
			httpapitest.Equal(t, "Retry-After", a.Header.Get("Retry-After"), "1")
			for _, cause := range []string{"event", "127.0.0.1", "rpc", "sql", "pool"} {
				if strings.Contains(a.Body, cause) {
					t.Errorf("the response contains the cause: %s", a.Body)
				}
			}
		}
		if got := len(s.Log.Matching("level=ERROR", "request=outage")); got != len(calls) {
			t.Errorf("the log has %d causes; want %d", got, len(calls))
		}
	}
	outage(calls)
	s.Server.SetRequestTimeout(httpapitest.Timeout)
	c.Must("GET", "/v3/urls", "")
	page := httpapitest.Send(t, s.Server, "GET", "/one", "", httpapitest.Header("X-Request-Id", "page"))
	httpapitest.Equal(t, "status", page.Status, http.StatusServiceUnavailable)
	httpapitest.Equal(t, "Retry-After", page.Header.Get("Retry-After"), "1")
	if !strings.Contains(page.Body, "Request page") {
		t.Errorf("the page does not name its request: %s", page.Body)
	}
	s.Events.Start()
	// The change makes redirects look the link up again.
	c.Must("PATCH", "/v3/urls/one", `{"urls":[{"long_url":"https://example.com/back"}]}`)
	s.DB.Pool.Close()
	httpapitest.Equal(t, "status from the log", s.Visit(t, "GET", "/one").Status, http.StatusFound)
	for _, path := range []string{"/v3/urls", "/v3/urls/one", "/v3/stats/one", "/v3/tags", "/v3/account"} {
		c.Call("GET", path, "", httpapitest.Header("Accept", "application/json")).Is(
			http.StatusServiceUnavailable, apierror.CodeUnknown,
		)
	}
	s.Events.Stop()
	for _, path := range []string{"/one", "/one/qr.png"} {
		c.Call("GET", path, "", httpapitest.Header("Accept", "application/json")).Is(
			http.StatusServiceUnavailable, apierror.CodeUnknown,
		)
	}
}

func TestPanics(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t, func(cfg *httpapi.Config) {
		cfg.Projections.Wait = func(context.Context, string, uint64) error { panic("boom") }
	})
	c := s.Client(t, "alice")
	a := c.Call("POST", "/v3/tags", `{"label":"x"}`, httpapitest.Header("X-Request-Id", "panic-1"))
	a.Is(http.StatusInternalServerError, apierror.CodeUnknown)
	if strings.Contains(a.Body, "boom") || strings.Contains(a.Body, "goroutine") {
		t.Errorf("the response contains the panic: %s", a.Body)
	}
	if len(s.Log.Matching("level=ERROR", "request=panic-1", "boom", "stack=")) != 1 {
		t.Error("the log does not have the panic")
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	valid := httpapitest.Bare
	if _, err := httpapi.New(valid()); err != nil {
		t.Fatalf("a valid configuration: %v", err)
	}
	for name, spoil := range map[string]func(*httpapi.Config){
		"nothing to serve": func(c *httpapi.Config) { c.API, c.Redirects = false, false },
		"commands":         func(c *httpapi.Config) { c.Commands = nil },
		"wait":             func(c *httpapi.Config) { c.Projections.Wait = nil },
		"queries":          func(c *httpapi.Config) { c.Queries = nil },
		"accounts":         func(c *httpapi.Config) { c.Accounts = nil },
		"clicks":           func(c *httpapi.Config) { c.Visits.Clicks = nil },
		"short key":        func(c *httpapi.Config) { c.VisitorKey = []byte("short") },
		"negative":         func(c *httpapi.Config) { c.BodyLimit = -1 },
		"page size":        func(c *httpapi.Config) { c.PageSize = 2000 },
		"redirect status":  func(c *httpapi.Config) { c.RedirectStatus = 200 },
		"base path":        func(c *httpapi.Config) { c.BaseURL = "https://example.com/x" },
		"base scheme":      func(c *httpapi.Config) { c.BaseURL = "ftp://example.com" },
		"base user":        func(c *httpapi.Config) { c.BaseURL = "https://a@example.com" },
		"base nothing":     func(c *httpapi.Config) { c.BaseURL = "example.com" },
	} {
		cfg := valid()
		spoil(&cfg)
		if _, err := httpapi.New(cfg); err == nil {
			t.Errorf("the configuration is accepted: %s", name)
		}
	}
}
