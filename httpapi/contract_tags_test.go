package httpapi_test

import (
	"testing"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
)

func TestContractOfTags(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	hold(c, []row{
		{
			"none", "GET /v3/tags", "", 200, apierror.CodeOK,
			`= {"error":{"code":0,"message":""},"version":"3.1","tags":[]}`, "", "",
		},
		{
			"creation; the label is trimmed", "POST /v3/tags", `{"label":" Café-1 "}`, 200, apierror.CodeOK,
			`{"tags":[{"label":"Café-1"}]}`, "/v3/tags", `{"tags":[{"label":"Café-1"}]}`,
		},
		{
			"an existing label, in whatever case", "POST /v3/tags", `{"label":"CAFÉ-1"}`, 200, apierror.CodeOK,
			`{"tags":[{"label":"Café-1"}]}`, "/v3/tags", `{"tags":[{"label":"Café-1"}]}`,
		},
		{
			"another", "POST /v3/tags", `{"label":"red tape"}`, 200, apierror.CodeOK, `{"tags":[{"label":"red tape"}]}`,
			"/v3/tags", `{"tags":[{"label":"Café-1"},{"label":"red tape"}]}`,
		},
		{
			"on a URL", "POST /v3/urls",
			`{"urls":[{"long_url":"https://example.com/","custom_hash":"one","tags":["RED TAPE"]}]}`, 200,
			apierror.CodeOK, `{"urls":[{"tags":["red tape"]}]}`, "", "",
		},
		{
			"renaming to another's label", "PATCH /v3/tags/red%20tape", `{"label":"café-1"}`, 400,
			apierror.CodeInvalidLabel, "", "/v3/urls/one", `{"urls":[{"tags":["red tape"]}]}`,
		},
		{"renaming a missing one", "PATCH /v3/tags/none", `{"label":"x"}`, 404, apierror.CodeTagNotFound, "", "", ""},
		{
			"renaming", "PATCH /v3/tags/Red%20tape", `{"label":"blue"}`, 200, apierror.CodeOK,
			`{"tags":[{"label":"blue"}]}`, "/v3/urls/one", `{"urls":[{"tags":["blue"]}]}`,
		},
		{
			"the URL is found by the new label", "GET /v3/urls?tags=%2Bblue", "", 200, apierror.CodeOK,
			`{"urls":[{"hash":"one"}]}`, "", "",
		},
		{
			"and not by the former one", "GET /v3/urls?tags=%22red%20tape%22", "", 404, apierror.CodeTagNotFound, "",
			"", "",
		},
		{
			"another spelling of itself", "PATCH /v3/tags/caf%C3%A9-1", `{"label":"CAFÉ-1"}`, 200, apierror.CodeOK,
			`{"tags":[{"label":"CAFÉ-1"}]}`, "/v3/tags", `{"tags":[{"label":"CAFÉ-1"},{"label":"blue"}]}`,
		},
		{"deletion", "DELETE /v3/tags/BLUE/", "", 200, apierror.CodeOK, done, "/v3/urls/one", `{"urls":[{"tags":[]}]}`},
		{
			"each item answers with what it left, not with what a later one does", "PATCH /v3/urls",
			`{"urls":[{"hash":"one","note":"n"},{"hash":"one","tags":["+café-1"]}]}`,
			200, apierror.CodeOK, `{"urls":[{"note":"n","tags":[]},{"note":"n","tags":["CAFÉ-1"]}]}`, "", "",
		},
		{
			"a deleted one", "DELETE /v3/tags/blue", "", 404, apierror.CodeTagNotFound, "", "/v3/tags",
			`{"tags":[{"label":"CAFÉ-1"}]}`,
		},
		{"what can be no label", "DELETE /v3/tags/a%2Fb", "", 404, apierror.CodeTagNotFound, "", "", ""},
		{
			"a new tag with the label of a deleted one is on no URL", "POST /v3/tags", `{"label":"blue"}`, 200,
			apierror.CodeOK, `{"tags":[{"label":"blue"}]}`, "/v3/urls?tags=blue", `{"urls":[]}`,
		},
	})
}

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
	hold(c, []row{
		{
			"a visited URL", "GET /v3/stats/a", "", 200, apierror.CodeOK,
			`{"stats":[{"hash":"a","total_clicks":2,"unique_clicks":1,"daily_clicks":{"2026-05-14":{"total":2,"unique":1}}}]}`,
			"/v3/urls/a",
			`{"urls":[{"total_clicks":2,"unique_clicks":1,"visited":true,"last_visit":"2026-05-14T12:00:00+00:00"}]}`,
		},
		{"reset", "DELETE /v3/stats/a", "", 200, apierror.CodeOK, done, "/v3/stats/a", zero("a")},
		{
			"a URL stays visited", "GET /v3/urls/a", "", 200, apierror.CodeOK,
			`{"urls":[{"total_clicks":0,"unique_clicks":0,"visited":true,"last_visit":"2026-05-14T12:00:00+00:00"}]}`,
			"", "",
		},
		{
			"reset of several", "DELETE /v3/stats?hashes=a%2Cnone%2Cb", "", 200, apierror.CodeOK, done, "/v3/stats/b",
			zero("b"),
		},
		{
			"the others", "GET /v3/stats/c", "", 200, apierror.CodeOK, `{"stats":[{"hash":"c","total_clicks":1}]}`, "",
			"",
		},
		{"reset by tags", "DELETE /v3/stats?tags=%2Bt", "", 200, apierror.CodeOK, done, "/v3/stats/c", zero("c")},
		{"of nothing", "DELETE /v3/stats", "", 400, apierror.CodeMissingInput, "", "", ""},
		{"of a missing URL", "DELETE /v3/stats/none", "", 404, apierror.CodeURLNotFound, "", "", ""},
		{"of no hash", "GET /v3/stats/a.b", "", 400, apierror.CodeInvalidHash, "", "", ""},
	})
}

func TestContractOfTheAccount(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	c.Create(`"long_url":"https://example.com/","custom_hash":"one"`)
	c.Create(`"long_url":"https://example.com/"`)
	hold(c, []row{
		{"deleted URLs do not count, but in their month", "DELETE /v3/urls/one", "", 200, apierror.CodeOK, done, "/v3/account", `{"account":{
			"user_id":"` + c.ID +
			`","username":"alice","custom_domain":"","account_expiration_date":"9999-12-31 23:59:59","subscription_plan":"free",
			"counters":{"urls":{"count":1,"limit":0},"month_urls":{"count":2,"limit":0},"today_api_calls":{"count":4,"limit":0}}}}`},
	})
}
