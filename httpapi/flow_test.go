package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"linkledger/httpapi"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
)

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
