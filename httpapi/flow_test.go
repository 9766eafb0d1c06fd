package httpapi

import (
	"net/http"
	"strings"
	"testing"
)

func TestListPages(t *testing.T) {
	t.Parallel()
	s := newStack(t, func(cfg *Config) { cfg.PageSize, cfg.MaxPageSize = 3, 4 })
	c := s.client(t, "alice")
	for _, hash := range []string{"a", "b", "c", "d", "e"} {
		c.create(`"long_url":"https://example.com/","custom_hash":"` + hash + `"`)
	}
	for query, want := range map[string]string{
		"":                                  "e,d,c",
		"?order_by=created":                 "e,d,c",
		"?search=&hashes=&tags=":            "e,d,c",
		"?limit=2":                          "e,d",
		"?limit=2&offset=4":                 "a",
		"?offset=5":                         "",
		"?limit=1000":                       "e,d,c,b",
		"?limit=9999999999999999999999999":  "e,d,c,b",
		"?offset=9999999999999999999999999": "",
		"/?offset=1&limit=1":                "d",
	} {
		a := c.must("GET", "/v3/urls"+query, "")
		var hashes []string
		for _, u := range a.URLs {
			hashes = append(hashes, u.Hash)
		}
		equal(t, query, strings.Join(hashes, ","), want)
		equal(t, query+" total", a.Page.TotalCount, 5)
		equal(t, query+" results", a.Page.ResultsCount, len(hashes))
	}
	equal(t, "offset", c.must("GET", "/v3/urls?offset=4", "").Page.Offset, 4)
}

func TestItemsFailForThemselves(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(t, "alice")
	c.create(`"long_url":"https://example.com/","custom_hash":"taken"`)
	ok := `"long_url":"https://example.com/"`
	cases := []struct {
		fields  string
		want    code
		details string
	}{
		{`"note":"x"`, codeMissingInput, "long_url is missing"},
		{`"long_url":null`, codeMissingInput, "long_url is missing"},
		{`"long_url":"ftp://example.com/"`, codeInvalidURL, "http"},
		{`"long_url":"javascript:alert(1)"`, codeInvalidURL, "http"},
		{`"long_url":"https://a:b@example.com/"`, codeInvalidURL, "password"},
		{`"long_url":"https://example.com/\r\nSet-Cookie:x"`, codeInvalidURL, "control"},
		{`"long_url":""`, codeURLNotAllowed, "characters"},
		{`"long_url":"https://sho.rt/abc"`, codeURLNotAllowed, "this service"},
		{ok + `,"custom_hash":"taken"`, codeHashUnavailable, "in use"},
		{ok + `,"custom_hash":"v3"`, codeHashUnavailable, "reserved"},
		{ok + `,"custom_hash":"a b"`, codeHashUnavailable, "1 to 25"},
		{ok + `,"custom_hash":"` + strings.Repeat("a", 26) + `"`, codeHashUnavailable, "1 to 25"},
		{ok + `,"expiration_date":"2026-02-30"`, codeInvalidDate, "YYYY-MM-DD"},
		{ok + `,"max_clicks":-1`, codeWrongInput, "max_clicks"},
		{ok + `,"tags":["a/b"]`, codeInvalidLabel, "letters"},
		{ok + `,"tags":["archived"]`, codeInvalidLabel, "meaning"},
		{ok + `,"tags":[""]`, codeInvalidLabel, "50"},
	}
	items := []string{`{` + ok + `,"custom_hash":"fine"}`}
	for _, tc := range cases {
		items = append(items, `{`+tc.fields+`}`)
	}
	a := c.call("POST", "/v3/urls", `{"urls":[`+strings.Join(items, ",")+`]}`)
	a.is(http.StatusOK, codeOK)
	equal(t, "hash", a.URLs[0].Hash, "fine")
	a.URLs[0].failed(t, codeOK, "")
	for i, tc := range cases {
		a.URLs[i+1].failed(t, tc.want, tc.details)
	}
	echoed := a.URLs[9]
	if *echoed.LongURL != "https://example.com/" || *echoed.CustomHash != "taken" {
		t.Errorf("the failed item echoes %+v", echoed)
	}
	equal(t, "total", c.must("GET", "/v3/urls", "").Page.TotalCount, 2)

	edits := []struct {
		fields string
		want   code
	}{
		{`"custom_hash":"taken"`, codeHashUnavailable},
		{`"long_url":"x:y"`, codeURLNotAllowed},
		{`"long_url":"mailto:a@example.com"`, codeInvalidURL},
		{`"expiration_date":"soon"`, codeInvalidDate},
		{`"max_clicks":-1`, codeWrongInput},
		{`"tags":["-none"]`, codeTagNotFound},
		{`"tags":["+a/b"]`, codeInvalidLabel},
	}
	for _, tc := range edits {
		a := c.call("PATCH", "/v3/urls/fine", `{"urls":[{`+tc.fields+`}]}`)
		a.is(http.StatusOK, codeOK)
		a.URLs[0].failed(t, tc.want, "")
		equal(t, "hash of the failed edit", a.URLs[0].Hash, "fine")
	}
}
