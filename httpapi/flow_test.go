package httpapi

import (
	"net/http"
	"strings"
	"testing"
)

func TestFirstLinks(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(t, "alice")

	created := c.must("POST", "/v3/urls", `{"urls":[
		{"long_url":"https://example.com/a?b=1&c=<d>","custom_hash":"Spring-26","note":"a note that is longer than it may be",
		 "email_stats":true,"expiration_date":"2026-06-01","max_clicks":7,"tags":["News","red tape"],"unknown":[1]},
		{"long_url":"https://example.com/b","custom_hash":null,"tags":null,"expiration_date":null}]}`)
	first, second := created.URLs[0], created.URLs[1]
	equal(t, "hash", first.Hash, "Spring-26")
	equal(t, "long_url", *first.LongURL, "https://example.com/a?b=1&c=<d>")
	equal(t, "short_url", first.ShortURL, "sho.rt/Spring-26")
	equal(t, "short_url_with_protocol", first.ShortURLWithProtocol, "http://sho.rt/Spring-26")
	equal(t, "note", first.Note, "a note that is longer tha")
	equal(t, "expiration_date", *first.ExpirationDate, "2026-06-01")
	equal(t, "max_clicks", first.MaxClicks, 7)
	equal(t, "tags", strings.Join(first.Tags, ","), "News,red tape")
	equal(t, "created_at", first.CreatedAt, "2026-05-14T12:00:00+00:00")
	equal(t, "qr_small", first.Links["qr_small"], "http://sho.rt/Spring-26/qr.png?size=small")
	equal(t, "qr_big", first.Links["qr_big"], "http://sho.rt/Spring-26/qr.png?size=big")
	if !first.EmailStats || first.Protected || first.Ping || first.Archived || first.Visited || first.LastVisit != nil {
		t.Errorf("flags of the first link are wrong: %+v", first)
	}
	if len(second.Hash) != 7 || second.ExpirationDate != nil || second.Tags == nil || len(second.Tags) != 0 {
		t.Errorf("defaults of the second link are wrong: %+v", second)
	}
	if created.header.Get("X-Event-Position") == "" {
		t.Error("no position of the write")
	}

	list := c.must("GET", "/v3/urls", "")
	equal(t, "page", *list.Page, page{ResultsCount: 2, TotalCount: 2})
	for _, listed := range list.URLs {
		if listed.Error != nil {
			t.Errorf("a read record has an error: %+v", listed)
		}
	}
	read := c.must("GET", "/v3/%75rls/%53pring%2D26/", "")
	equal(t, "page", *read.Page, page{ResultsCount: 1, TotalCount: 1})
	got := read.URLs[0]
	equal(t, "read long_url", *got.LongURL, *first.LongURL)
	equal(t, "read created_at", got.CreatedAt, first.CreatedAt)
	equal(t, "read tags", strings.Join(got.Tags, ","), "News,red tape")
}

func TestEachWriteIsReadAtOnce(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(t, "alice")
	const one = "/v3/urls/one"

	c.create(`"long_url":"https://example.com/1","custom_hash":"one","tags":["a","b"],"expiration_date":"2026-06-01"`)
	edited := c.must("PATCH", one, `{"urls":[{"long_url":"https://example.com/2","note":"n","email_stats":true,"ping":true,
		"protected":true,"archived":true,"expiration_date":null,"max_clicks":3,"tags":["-a","+c","d"]}]}`)
	for name, got := range map[string]item{"answer": edited.URLs[0], "read": c.read("one")} {
		equal(t, name+" long_url", *got.LongURL, "https://example.com/2")
		equal(t, name+" note", got.Note, "n")
		equal(t, name+" max_clicks", got.MaxClicks, 3)
		equal(t, name+" tags", strings.Join(got.Tags, ","), "b,c,d")
		if !got.EmailStats || !got.Ping || !got.Protected || !got.Archived || got.ExpirationDate != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if edited.Page != nil {
		t.Error("an edit answers with a page")
	}
	c.must("PATCH", one, `{"urls":[{"expiration_date":"2026-07-01"}]}`)
	equal(t, "expiration_date", *c.read("one").ExpirationDate, "2026-07-01")
	c.must("PATCH", one, `{"urls":[{"expiration_date":""}]}`)
	if got := c.read("one"); got.ExpirationDate != nil {
		t.Errorf("expiration_date is %s; want none", *got.ExpirationDate)
	}
	c.must("PATCH", one, `{"urls":[{"long_url":null,"note":null,"max_clicks":null,"protected":null,"tags":null}]}`)
	if got := c.read("one"); *got.LongURL != "https://example.com/2" || got.Note != "n" || got.MaxClicks != 3 || !got.Protected {
		t.Errorf("null changed %+v", got)
	}

	renamed := c.must("PATCH", one, `{"urls":[{"custom_hash":"two"}]}`)
	equal(t, "new hash", renamed.URLs[0].Hash, "two")
	c.call("GET", one, "").is(http.StatusNotFound, codeURLNotFound)
	c.read("two")

	c.call("DELETE", "/v3/urls/two", "").is(http.StatusForbidden, codeAccessDenied)
	c.must("PATCH", "/v3/urls/two", `{"urls":[{"protected":false}]}`)
	deleted := c.must("DELETE", "/v3/urls/two", "")
	equal(t, "body", deleted.body, `{"error":{"code":0,"message":""},"version":"3.1"}`+"\n")
	c.call("GET", "/v3/urls/two", "").is(http.StatusNotFound, codeURLNotFound)
	c.call("DELETE", "/v3/urls/two", "").is(http.StatusNotFound, codeURLNotFound)
	equal(t, "total", c.must("GET", "/v3/urls", "").Page.TotalCount, 0)
}

func TestTags(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(t, "alice")
	labels := func() string {
		t.Helper()
		var all []string
		for _, tag := range c.must("GET", "/v3/tags", "").Tags {
			all = append(all, tag.Label)
		}
		return strings.Join(all, ",")
	}

	if a := c.must("GET", "/v3/tags", ""); !strings.Contains(a.body, `"tags":[]`) {
		t.Errorf("no tags are %s", a.body)
	}
	equal(t, "created", c.must("POST", "/v3/tags", `{"label":" Café-1 "}`).Tags[0].Label, "Café-1")
	equal(t, "found", c.must("POST", "/v3/tags", `{"label":"CAFÉ-1"}`).Tags[0].Label, "Café-1")
	c.must("POST", "/v3/tags", `{"label":"red tape"}`)
	equal(t, "tags", labels(), "Café-1,red tape")
	c.create(`"long_url":"https://example.com/","custom_hash":"one","tags":["RED TAPE"]`)

	c.call("PATCH", "/v3/tags/red%20tape", `{"label":"café-1"}`).is(http.StatusBadRequest, codeInvalidLabel)
	c.call("PATCH", "/v3/tags/none", `{"label":"x"}`).is(http.StatusNotFound, codeTagNotFound)
	equal(t, "renamed", c.must("PATCH", "/v3/tags/red%20tape", `{"label":"blue"}`).Tags[0].Label, "blue")
	equal(t, "tags", labels(), "Café-1,blue")
	equal(t, "tags of the link", strings.Join(c.read("one").Tags, ","), "blue")
	equal(t, "spelling", c.must("PATCH", "/v3/tags/caf%C3%A9-1", `{"label":"CAFÉ-1"}`).Tags[0].Label, "CAFÉ-1")

	deleted := c.must("DELETE", "/v3/tags/blue/", "")
	equal(t, "body", deleted.body, `{"error":{"code":0,"message":""},"version":"3.1"}`+"\n")
	c.call("DELETE", "/v3/tags/blue", "").is(http.StatusNotFound, codeTagNotFound)
	c.call("DELETE", "/v3/tags/a%2Fb", "").is(http.StatusNotFound, codeTagNotFound)
	equal(t, "tags", labels(), "CAFÉ-1")
	equal(t, "tags of the link", len(c.read("one").Tags), 0)
}

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

func TestAccount(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(t, "alice")
	c.create(`"long_url":"https://example.com/","custom_hash":"one"`)
	c.create(`"long_url":"https://example.com/"`)
	c.must("DELETE", "/v3/urls/one", "")
	account := c.must("GET", "/v3/account", "").Account
	for name, want := range map[string]string{
		"user_id": `"` + c.id + `"`, "username": `"alice"`, "custom_domain": `""`, "subscription_plan": `"free"`,
		"account_expiration_date": `"9999-12-31 23:59:59"`,
		"counters":                `{"month_urls":{"count":2,"limit":0},"urls":{"count":1,"limit":0}}`,
	} {
		equal(t, name, string(account[name]), want)
	}
	equal(t, "fields", len(account), 6)
}

func TestAccountsSeeNothingOfEachOther(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	alice, bob := s.client(t, "alice"), s.client(t, "bob")
	alice.create(`"long_url":"https://example.com/","custom_hash":"hers","tags":["private"]`)

	for _, call := range [][2]string{
		{"GET", "/v3/urls/hers"}, {"PATCH", "/v3/urls/hers"}, {"DELETE", "/v3/urls/hers"}, {"GET", "/v3/stats/hers"},
	} {
		bob.call(call[0], call[1], `{"urls":[{"note":"x"}]}`).is(http.StatusNotFound, codeURLNotFound)
	}
	for _, call := range [][2]string{{"PATCH", "/v3/tags/private"}, {"DELETE", "/v3/tags/private"}} {
		bob.call(call[0], call[1], `{"label":"x"}`).is(http.StatusNotFound, codeTagNotFound)
	}
	equal(t, "total", bob.must("GET", "/v3/urls", "").Page.TotalCount, 0)
	equal(t, "tags", len(bob.must("GET", "/v3/tags", "").Tags), 0)
	taken := bob.call("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.org/","custom_hash":"hers"}]}`)
	taken.is(http.StatusOK, codeOK)
	taken.URLs[0].failed(t, codeHashUnavailable, "already in use")
	equal(t, "note", alice.read("hers").Note, "")
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
	equal(t, "error", *a.URLs[0].Error, itemError{})
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
