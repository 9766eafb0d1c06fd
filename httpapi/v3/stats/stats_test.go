package stats_test

import (
	"net/http"
	"strings"
	"testing"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/contracttest"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/response"
)

func TestContractOfStats(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	c.CreateAll("a", "b", "c")
	c.Must("PATCH", "/v3/urls/c", `{"urls":[{"tags":["t"]}]}`)
	for _, path := range []string{"/a", "/a", "/b", "/c"} {
		s.Visit(t, "GET", path)
	}
	zero := func(hash string) string {
		return `= {"error":{"code":0,"message":""},"version":"3.1","stats":[{"hash":"` + hash +
			`","total_clicks":0,"unique_clicks":0,"daily_clicks":{}}]}`
	}
	contracttest.Hold(c, []contracttest.Row{
		{
			"a visited URL", "GET /v3/stats/a", "", 200, apierror.CodeOK,
			`{"stats":[{"hash":"a","total_clicks":2,"unique_clicks":1,"daily_clicks":{"2026-05-14":{"total":2,"unique":1}}}]}`,
			"/v3/urls/a",
			`{"urls":[{"total_clicks":2,"unique_clicks":1,"visited":true,"last_visit":"2026-05-14T12:00:00+00:00"}]}`,
		},
		{"reset", "DELETE /v3/stats/a", "", 200, apierror.CodeOK, contracttest.Done, "/v3/stats/a", zero("a")},
		{
			"a URL stays visited", "GET /v3/urls/a", "", 200, apierror.CodeOK,
			`{"urls":[{"total_clicks":0,"unique_clicks":0,"visited":true,"last_visit":"2026-05-14T12:00:00+00:00"}]}`,
			"", "",
		},
		{
			"reset of several", "DELETE /v3/stats?hashes=a%2Cnone%2Cb", "", 200, apierror.CodeOK, contracttest.Done, "/v3/stats/b",
			zero("b"),
		},
		{
			"the others", "GET /v3/stats/c", "", 200, apierror.CodeOK, `{"stats":[{"hash":"c","total_clicks":1}]}`, "",
			"",
		},
		{"reset by tags", "DELETE /v3/stats?tags=%2Bt", "", 200, apierror.CodeOK, contracttest.Done, "/v3/stats/c", zero("c")},
		{"of nothing", "DELETE /v3/stats", "", 400, apierror.CodeMissingInput, "", "", ""},
		{"of a missing URL", "DELETE /v3/stats/none", "", 404, apierror.CodeURLNotFound, "", "", ""},
		{"of no hash", "GET /v3/stats/a.b", "", 400, apierror.CodeInvalidHash, "", "", ""},
	})
}

func TestDimensions(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	c.Create(`"long_url":"https://example.com/","custom_hash":"one"`)
	visit := func(referrer, userAgent string) {
		t.Helper()
		a := s.Visit(t, "GET", "/one", httpapitest.Header("Referer", referrer), httpapitest.Header("User-Agent", userAgent))
		httpapitest.Equal(t, "status", a.Status, http.StatusFound)
	}
	read := func(query, want string) {
		t.Helper()
		a := c.Must("GET", "/v3/urls/one/dimensions"+query, "")
		_, got, _ := strings.Cut(a.Body, `"dimensions":`)
		httpapitest.Equal(t, "dimensions "+query, strings.TrimSuffix(strings.TrimSpace(got), "}"), want)
	}
	none := `{"hash":"one","referrer":[],"country":[],"browser":[],"os":[],"device":[]}`
	read("", none)
	visit("https://a.example/page", httpapitest.Firefox)
	visit("https://b.example/", httpapitest.IPhone)
	visit("https://b.example/", httpapitest.Lynx)
	visit("https://b.example/", "Googlebot/2.1")
	all := `{"hash":"one","referrer":[{"value":"b.example","clicks":2},{"value":"a.example","clicks":1}],"country":[],` +
		`"browser":[{"value":"Firefox","clicks":1},{"value":"Safari","clicks":1}],` +
		`"os":[{"value":"Linux","clicks":1},{"value":"iOS","clicks":1}],` +
		`"device":[{"value":"desktop","clicks":1},{"value":"mobile","clicks":1}]}`
	read("", all)
	read("?from=2026-05-14&to=2026-05-14&limit=1000", all)
	read("?from=0001-01-01&to=9999-12-31", all)
	read("?from=2026-05-15", none)
	read("?to=2026-05-13", none)
	read("?limit=1", `{"hash":"one","referrer":[{"value":"b.example","clicks":2},{"value":"other","clicks":1}],"country":[],`+
		`"browser":[{"value":"Firefox","clicks":1},{"value":"other","clicks":1}],`+
		`"os":[{"value":"Linux","clicks":1},{"value":"other","clicks":1}],`+
		`"device":[{"value":"desktop","clicks":1},{"value":"other","clicks":1}]}`)

	c.Must("DELETE", "/v3/stats/one", "")
	visit("https://c.example/", httpapitest.Lynx) // the read must also wait for the earlier reset
	read("", strings.Replace(none, `"referrer":[]`, `"referrer":[{"value":"c.example","clicks":1}]`, 1))
}

// TestUndoStatsReset checks that clicks before and after an undone reset are added up, with each
// visitor counted once.
func TestUndoStatsReset(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "demo")
	visit := func(agent string) {
		httpapitest.Send(t, s.Server, http.MethodGet, "/one", "", httpapitest.From("192.0.2.1:1", agent))
	}
	created := c.Must(http.MethodPost, "/v3/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"one"}]}`)
	visit(httpapitest.Firefox)
	visit(httpapitest.IPhone)
	reset := c.Must(http.MethodDelete, "/v3/stats/one", "")
	visit(httpapitest.Firefox)
	visit(httpapitest.Lynx)
	stats := c.Must(http.MethodGet, "/v3/stats/one", "").Stats[0]
	httpapitest.Equal(t, "after the reset", [2]int64{stats.TotalClicks, stats.UniqueClicks}, [2]int64{2, 2})
	for range 2 {
		httpapitest.Equal(t, "undone", c.Undo(reset.Header.Get(response.HeaderBatchID)).Undo.Undone, 1)
		stats = c.Must(http.MethodGet, "/v3/stats/one", "").Stats[0]
		httpapitest.Equal(t, "all", [2]int64{stats.TotalClicks, stats.UniqueClicks}, [2]int64{4, 3})
		httpapitest.Equal(t, "of the day", stats.DailyClicks["2026-05-14"], contract.Day{Total: 4, Unique: 3})
	}
	httpapitest.Equal(t, "creation undone", c.Undo(created.Header.Get(response.HeaderBatchID)).Undo.Undone, 1)
	c.Call(http.MethodGet, "/v3/urls/one", "").Is(http.StatusNotFound, apierror.CodeURLNotFound)
}
