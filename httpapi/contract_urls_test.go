package httpapi_test

import (
	"strings"
	"testing"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
)

const done = `= {"error":{"code":0,"message":""},"version":"3.1"}`

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
	hold(c, []row{
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
	hold(c, []row{
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
			done, "/v3/urls", `{"urls":[{"hash":"one"}],"page":{"total_count":1}}`,
		},
		{
			"unprotected", "PATCH /v3/urls/one", item(`"protected":false`), 200, apierror.CodeOK,
			`{"urls":[{"protected":false}]}`, "", "",
		},
		{
			"deletion", "DELETE /v3/urls/one", "", 200, apierror.CodeOK, done, "/v3/urls",
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
			"deletion by tags", "DELETE /v3/urls?tags=~visited", "", 200, apierror.CodeOK, done, "/v3/urls",
			`{"page":{"total_count":0}}`,
		},
	})
}

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
	hold(c, []row{
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
			"reset by tags", "DELETE /v3/stats?tags=t;u", "", 200, apierror.CodeOK, done, "/v3/urls?order_by=hash",
			`{"urls":[{"total_clicks":1},{"total_clicks":0},{"total_clicks":1}]}`,
		},
		{
			"deletion by tags keeps protected URLs", "DELETE /v3/urls?tags=t|u", "", 200, apierror.CodeOK, done,
			"/v3/urls?order_by=hash", `{"urls":[{"hash":"a"},{"hash":"b"}]}`,
		},
		{
			"null removes the date by tags", "PATCH /v3/urls?tags=protected",
			`{"urls":[{"protected":false,"expiration_date":null}]}`, 200, apierror.CodeOK, "", "/v3/urls/a",
			`{"urls":[{"protected":false,"expiration_date":null}]}`,
		},
		{
			"deletion by tags", "DELETE /v3/urls?tags=t", "", 200, apierror.CodeOK, done, "/v3/urls",
			`{"page":{"total_count":0}}`,
		},
		{"of nothing", "DELETE /v3/urls?tags=t", "", 200, apierror.CodeOK, done, "", ""},
		{"of deleted URLs", "DELETE /v3/urls?hashes=a,b", "", 200, apierror.CodeOK, done, "", ""},
	})
	if hers := bob.Read("hers"); hers.Note != "" || hers.TotalClicks != 1 {
		t.Errorf("the other account's link is %+v", hers)
	}
}
