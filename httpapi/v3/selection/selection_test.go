package selection_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"linkledger/httpapi"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contracttest"
	"linkledger/httpapi/httpapitest"
)

func TestContractOfSelections(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c, bob := s.Client(t, "alice"), s.Client(t, "bob")
	c.CreateAll("a", "b", "c")
	bob.Create(`"custom_hash":"hers","long_url":"https://example.com/","tags":["t"]`)
	for _, hash := range []string{"/a", "/b", "/c", "/hers"} {
		s.Visit(t, "GET", hash)
	}
	const all = `"note":"n","expiration_date":"2030-01-01","max_clicks":9,"email_stats":true,"ping":true,"protected":true,"archived":true`
	contracttest.Hold(c, []contracttest.Row{
		{
			"the same for several, each once; the hash of the item does not count", "PATCH /v3/urls?hashes=a,none,b,a",
			`{"urls":[{"note":"same","tags":["+t"],"hash":"c"}]}`, 200, apierror.CodeOK,
			`{"urls":[{"hash":"a","error":{"code":0}},{"hash":"none","error":{"code":1306,"details":"~none"}},{"hash":"b"}]}`,
			"/v3/urls?order_by=hash",
			`{"urls":[{"note":"same","tags":["t"]},{"note":"same","tags":["t"]},{"hash":"c","note":"","tags":[]}]}`,
		},
		{
			"each its own, and each fails for itself", "PATCH /v3/urls",
			`{"urls":[{"hash":"a","note":"1"},{"hash":"b","expiration_date":"2030-01-01","tags":["-T"]},{"note":"2"},
				{"hash":"a b","note":"3"},{"hash":"a","tags":["-none"]},{"hash":"a","long_url":"x:y"},
				{"hash":"a","note":"last"},{"hash":"none"},{"hash":"c"}]}`, 200, apierror.CodeOK,
			`{"urls":[{"note":"1"},{"tags":[]},{"error":{"code":1305,"details":"~hash is missing"}},
				{"error":{"code":1204,"details":"~1 to 25"}},{"error":{"code":1309,"details":"~none"}},
				{"hash":"a","error":{"code":1216}},{"note":"last"},{"error":{"code":1306,"details":"~none"}},{"hash":"c"}]}`,
			"/v3/urls?order_by=hash", `{"urls":[{"note":"last"},{"expiration_date":"2030-01-01"},{"note":""}]}`,
		},
		{
			"null removes the date", "PATCH /v3/urls",
			`{"urls":[{"hash":"b","expiration_date":null,"tags":["t","u"]},{"hash":"c","tags":["u"]}]}`, 200,
			apierror.CodeOK, "", "/v3/urls/b", `{"urls":[{"expiration_date":null,"tags":["t","u"]}]}`,
		},
		{
			"edit by tags", "PATCH /v3/urls?tags=+t", `{"urls":[{` + all + `}]}`, 200, apierror.CodeOK, "",
			"/v3/urls?order_by=hash", `{"urls":[{` + all + `},{` + all + `},{"note":""}]}`,
		},
		{
			"reset by tags", "DELETE /v3/stats?tags=t;u", "", 200, apierror.CodeOK, contracttest.Done, "/v3/urls?order_by=hash",
			`{"urls":[{"total_clicks":1},{"total_clicks":0},{"total_clicks":1}]}`,
		},
		{
			"deletion by tags keeps protected URLs", "DELETE /v3/urls?tags=t|u", "", 200, apierror.CodeOK, contracttest.Done,
			"/v3/urls?order_by=hash", `{"urls":[{"hash":"a"},{"hash":"b"}]}`,
		},
		{
			"null removes the date by tags", "PATCH /v3/urls?tags=protected",
			`{"urls":[{"protected":false,"expiration_date":null}]}`, 200, apierror.CodeOK, "", "/v3/urls/a",
			`{"urls":[{"protected":false,"expiration_date":null}]}`,
		},
		{
			"deletion by tags", "DELETE /v3/urls?tags=t", "", 200, apierror.CodeOK, contracttest.Done, "/v3/urls",
			`{"page":{"total_count":0}}`,
		},
		{"of nothing", "DELETE /v3/urls?tags=t", "", 200, apierror.CodeOK, contracttest.Done, "", ""},
		{"of deleted URLs", "DELETE /v3/urls?hashes=a,b", "", 200, apierror.CodeOK, contracttest.Done, "", ""},
	})
	if hers := bob.Read("hers"); hers.Note != "" || hers.TotalClicks != 1 {
		t.Errorf("the other account's link is %+v", hers)
	}
}

func TestListPages(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t, func(cfg *httpapi.Config) { cfg.PageSize, cfg.MaxPageSize = 3, 4 })
	c := s.Client(t, "alice")
	c.CreateAll("a", "b", "c", "d", "e")
	for query, want := range map[string]string{
		"":                                  "e,d,c",
		"?order_by=created":                 "e,d,c",
		"?search=&hashes=&tags=&at=":        "e,d,c",
		"?limit=2":                          "e,d",
		"?limit=2&offset=4":                 "a",
		"?offset=5":                         "",
		"?limit=1000":                       "e,d,c,b",
		"?limit=9999999999999999999999999":  "e,d,c,b",
		"?offset=9999999999999999999999999": "",
		"/?offset=1&limit=1":                "d",
	} {
		a := c.Must("GET", "/v3/urls"+query, "")
		httpapitest.Equal(t, query, a.Hashes(), want)
		httpapitest.Equal(t, query+" total", a.Page.TotalCount, 5)
		httpapitest.Equal(t, query+" results", a.Page.ResultsCount, len(a.URLs))
	}
	httpapitest.Equal(t, "offset", c.Must("GET", "/v3/urls?offset=4", "").Page.Offset, 4)
}

func TestLists(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c, bob := s.Client(t, "alice"), s.Client(t, "bob")
	for i, fields := range []string{
		`"custom_hash":"a","note":"One","tags":["fruit","red"]`,
		`"custom_hash":"b","note":"two","tags":["fruit"],"email_stats":true`,
		`"custom_hash":"c","tags":["red tape"]`,
	} {
		s.SetTime(t, fmt.Sprintf("2026-05-1%dT12:00:00Z", i))
		c.Create(fields + `,"long_url":"https://example.com/` + strings.Repeat("x", i) + `?q=100%25"`)
	}
	s.SetTime(t, httpapitest.Noon)
	bob.Create(`"custom_hash":"hers","long_url":"https://example.com/","tags":["fruit","private"]`)
	c.Must("PATCH", "/v3/urls/a", `{"urls":[{"archived":true}]}`)
	for range 2 {
		s.Visit(t, "GET", "/b")
	}
	s.CatchUp(t)
	for query, want := range map[string]string{
		"order_by=created":                "c,b,a",
		"order_by=-created":               "a,b,c",
		"order_by=modified":               "a,c,b",
		"order_by=clicks":                 "b,c,a",
		"order_by=-clicks":                "a,c,b",
		"order_by=hash":                   "a,b,c",
		"order_by=-hash&limit=1&offset=1": "b",
		"search=ONE":                      "a",
		"search=example.com":              "c,b,a",
		"search=100%2525":                 "c,b,a",
		"search=none":                     "",
		"search=%25":                      "c,b,a",
		"search=_":                        "",

		"tags=fruit":                     "b,a",
		"tags=+fruit":                    "b,a", // a plus in a query means a space
		"tags=%2Bfruit%26%2Bred":         "a",
		"tags=+fruit;+red":               "a",
		"tags=+fruit,+red":               "a",
		"tags=+fruit%26~red":             "b",
		"tags=FRUIT|%22red+tape%22":      "c,b,a",
		"tags=fruit^red":                 "b",
		"tags=archived":                  "a",
		"tags=visited;email_stats":       "b",
		"tags=(~fruit|+red);~visited":    "c,a",
		"tags=%3E2026-05-10;<2026-05-12": "b",
		"tags=>2026-05-11":               "c",
		"tags=~fruit&hashes=a,b,c":       "c",
		"tags=fruit&search=example&hashes=b,c,a&order_by=-hash&limit=1&offset=1": "a",
	} {
		a := c.Must("GET", "/v3/urls?"+query, "")
		httpapitest.Equal(t, query, a.Hashes(), want)
		if !strings.Contains(query, "offset") {
			httpapitest.Equal(t, query+" total", a.Page.TotalCount, int64(len(a.URLs)))
		}
		for _, u := range a.URLs {
			if u.Links.QRSmall == "" || u.Error != nil {
				t.Errorf("%s: %+v", query, u)
			}
		}
	}
	httpapitest.Equal(
		t, "total",
		c.Must("GET", "/v3/urls?tags=fruit&search=example&hashes=b,c,a&limit=1&offset=1", "").Page.TotalCount, 2,
	)
	c.Call("GET", "/v3/urls?tags=private", "").Is(http.StatusNotFound, apierror.CodeTagNotFound)
	httpapitest.Equal(t, "the other's fruit", bob.Must("GET", "/v3/urls?tags=fruit", "").Hashes(), "hers")
}

// many returns n hashes separated by commas.
func many(n int) string {
	hashes := make([]string, n)
	for i := range hashes {
		hashes[i] = "h" + strconv.Itoa(i)
	}
	return strings.Join(hashes, ",")
}

func TestReadSelection(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c, bob := s.Client(t, "alice"), s.Client(t, "bob")
	c.CreateAll("a", "b", "c", "d")
	bob.CreateAll("hers")
	c.Must("DELETE", "/v3/urls/d", "")
	for query, want := range map[string]string{
		"hashes=a,c":                         "c,a",
		"hashes=a%2Cc":                       "c,a",
		"hashes=%20a%20,,b,a,":               "b,a",
		"hashes=a,none,hers,d":               "a",
		"hashes=none":                        "",
		"hashes=a,b,c&limit=1&offset=1":      "b",
		"hashes=" + many(48) + ",a,a,b":      "b,a",
		"hashes=&limit=1":                    "c",
		"hashes=a,b,c&order_by=created":      "c,b,a",
		"hashes=A":                           "",
		"hashes=" + strings.Repeat("a,", 99): "a",
	} {
		a := c.Must("GET", "/v3/urls?"+query, "")
		httpapitest.Equal(t, query, a.Hashes(), want)
	}
	httpapitest.Equal(t, "total", c.Must("GET", "/v3/urls?hashes=a,b,none&limit=1", "").Page.TotalCount, 2)
}

func TestItemsMeetInTheirOrder(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	c.CreateAll("a", "b")
	// Each item sees the changes of the items before it.
	renamed := c.Call("PATCH", "/v3/urls", `{"urls":[{"hash":"a","custom_hash":"b"},{"hash":"b","custom_hash":"c"},
		{"hash":"a","custom_hash":"b"},{"hash":"c","note":"was b"},{"hash":"b","note":"was a"}]}`)
	renamed.Is(http.StatusOK, apierror.CodeOK)
	renamed.URLs[0].Failed(t, apierror.CodeHashUnavailable, "in use")
	httpapitest.Equal(t, "order", renamed.Hashes(), "a,c,b,c,b")
	if renamed.Page != nil {
		t.Error("the response to an edit has a page")
	}
	httpapitest.Equal(t, "b", *c.Read("b").LongURL+" "+c.Read("b").Note, "https://example.com/a was a")
	httpapitest.Equal(t, "c", *c.Read("c").LongURL+" "+c.Read("c").Note, "https://example.com/b was b")

	var items []string
	for i := range 25 {
		items = append(items, `{"long_url":"https://example.com/`+strconv.Itoa(i)+`","custom_hash":"same"}`)
	}
	created := c.Call("POST", "/v3/urls", `{"urls":[`+strings.Join(items, ",")+`]}`)
	created.Is(http.StatusOK, apierror.CodeOK)
	httpapitest.Equal(t, "first", created.URLs[0].Hash, "same")
	for _, item := range created.URLs[1:] {
		item.Failed(t, apierror.CodeHashUnavailable, "in use")
	}
	both := c.Call("PATCH", "/v3/urls?hashes=b,c", `{"urls":[{"custom_hash":"one-for-both"}]}`)
	httpapitest.Equal(t, "renamed", both.URLs[0].Hash, "one-for-both")
	both.URLs[1].Failed(t, apierror.CodeHashUnavailable, "in use")
}

// TestGroupLimitComesFirst checks that a list above the group limit changes nothing, not even its
// first URLs.
func TestGroupLimitComesFirst(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	c.CreateAll("h0")
	s.Visit(t, "GET", "/h0")
	s.CatchUp(t)
	items := strings.Repeat(`,{"hash":"h0","note":"x"}`, 51)[1:]
	for _, call := range [][3]string{
		{"GET", "/v3/urls?hashes=" + many(51), ""},
		{"PATCH", "/v3/urls?hashes=" + many(51), `{"urls":[{"note":"x"}]}`},
		{"PATCH", "/v3/urls", `{"urls":[` + items + `]}`},
		{"DELETE", "/v3/urls?hashes=" + many(51), ""},
		{"DELETE", "/v3/stats?hashes=" + many(51), ""},
	} {
		a := c.Call(call[0], call[1], call[2])
		a.Is(http.StatusBadRequest, apierror.CodeBatchLimit)
		a.Has("50 URLs")
	}
	if got := c.Read("h0"); got.Note != "" || got.TotalClicks != 1 {
		t.Errorf("a refused call changed %+v", got)
	}
}

// TestSelectionsByClicksNeedTheirScope checks that who may not read clicks selects and sorts no URLs
// by them.
func TestSelectionsByClicksNeedTheirScope(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	owner := s.Client(t, "owner")
	owner.Create(`"long_url":"https://example.com/","custom_hash":"one","tags":["t"]`)
	s.Visit(t, "GET", "/one")
	without := owner.WithKey(`"scopes":["links:read","links:write","links:create","stats:reset","tags:write","history:read"]`)
	with := owner.WithKey(`"scopes":["links:read","links:write","stats:read","stats:reset"]`)
	for _, call := range [][3]string{
		{"GET", "/v3/urls?order_by=clicks", ""},
		{"GET", "/v3/urls?order_by=-clicks", ""},
		{"GET", "/v3/urls?tags=visited", ""},
		{"GET", "/v3/urls?tags=t%26(~archived|VISITED)", ""},
		{"GET", "/v3/urls?hashes=one&tags=~visited", ""},
		{"PATCH", "/v3/urls?tags=visited", `{"urls":[{"archived":true}]}`},
		{"DELETE", "/v3/stats?tags=visited", ""},
		{"DELETE", "/v3/urls?tags=visited", ""},
	} {
		if a := without.Call(call[0], call[1], call[2]); !a.Lacks("stats:read") {
			t.Errorf("%v: %d %s", call, a.Status, a.Body)
		}
	}
	if link := owner.Read("one"); link.Archived || link.TotalClicks != 1 {
		t.Errorf("the URL is %+v", link)
	}
	httpapitest.Equal(t, "visited", with.Must("GET", "/v3/urls?tags=visited&order_by=clicks", "").Hashes(), "one")
}
