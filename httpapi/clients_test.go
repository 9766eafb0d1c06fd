package httpapi_test

import (
	"net/http"
	"testing"

	"linkledger/httpapi/httpapitest"
)

// TestRecordedClient sends requests that were recorded from a client of this API for browsers. This
// client makes every call with the settings of the previous call, so what a POST or PATCH sent is
// sent again in the next calls. jQuery sends it as the body of a DELETE and appends it to the query
// of a GET. The client does not escape commas and the operators of tag expressions.
func TestRecordedClient(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	accept := httpapitest.Header("Accept", "application/json, text/javascript, */*; q=0.01")
	withoutType := func(r *http.Request) { r.Header.Del("Content-Type") }
	const hostile = `{%22urls%22:[{%22long_url%22:%22https://example.com/?a=1&limit=0&search=none&hashes=x&tags=(%22,%22note%22:%22100%%22}]}`
	const rest = `{%22urls%22:[{%22note%22:%22x%22,%22archived%22:true}]}`

	c.Must("GET", "/v3/account?_=1795261043700", "", accept, withoutType)
	c.Must(
		"POST", "/v3/urls",
		`{"urls":[{"long_url":"https://example.com/a+b&c=d?x=1,2;3","custom_hash":"one","tags":["alpha","be ta"]}]}`,
		accept,
	)
	c.Must(
		"POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/2","custom_hash":"two","tags":["mass"]}]}`,
		accept,
	)
	c.Must(
		"POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/3","custom_hash":"three","tags":["mass"]}]}`,
		accept,
	)
	c.Must("PATCH", "/v3/urls?hashes=two,three", `{"urls":[{"note":"n+1","tags":["+gamma"]}]}`, accept)
	c.Must("PATCH", "/v3/urls?tags=+mass&+gamma&~archived", `{"urls":[{"note":"edited"}]}`, accept)
	c.Must("PATCH", "/v3/urls?hashes=three", `{"urls":[{"archived":true}]}`, accept)
	httpapitest.Equal(t, "edited by tags", c.Read("one").Note+c.Read("two").Note+c.Read("three").Note, "editededited")

	c.Must("GET", "/v3/account?"+hostile+"&_=1795261043701", "", accept)
	c.Must("GET", "/v3/tags?"+rest+"&_=1795261043716", "", accept)
	for query, want := range map[string]string{
		"limit=30&offset=0":                            "three,two,one",
		"limit=30&offset=30":                           "",
		"search=example.com/2&order_by=hash":           "two",
		"hashes=one,three":                             "three,one",
		"limit=30&tags=+mass&offset=0":                 "three,two",
		"limit=30&tags=+mass;~archived&offset=0":       "two",
		"limit=30&tags=+mass,+archived&offset=0":       "three",
		"limit=30&tags=+mass&~archived&offset=0":       "two",
		"limit=30&tags=+mass%20&%20+archived":          "three",
		"limit=30&tags=+alpha&+%22be%20ta%22":          "one",
		"limit=30&tags=(+alpha%7C+gamma),~archived":    "two,one",
		"limit=30&tags=+alpha%7C+gamma&+mass&~visited": "three,two,one",
		"limit=30&tags=+mass%5E+archived":              "two",
		"limit=30&tags=%3E2020-01-01":                  "three,two,one",
		"limit=30&offset=0&domain=sho.rt":              "three,two,one",
	} {
		for _, left := range []string{"", "&" + rest, "&" + hostile} {
			a := c.Must("GET", "/v3/urls?"+query+left+"&_=1795261043717", "", accept)
			httpapitest.Equal(t, query+left, a.Hashes(), want)
		}
	}

	c.Must("DELETE", "/v3/stats?hashes=one,two", `{"urls":[{"note":"x","archived":true}]}`, accept)
	c.Must("DELETE", "/v3/stats?tags=+mass", `{"urls":[{"note":"z"}]}`, accept)
	c.Must("POST", "/v3/tags?", `{"label":"new tag"}`, accept)
	c.Must("DELETE", "/v3/tags/new%20tag", `{"label":"new tag"}`, accept)
	c.Must("DELETE", "/v3/urls?tags=+mass&+archived", `{"label":"new tag"}`, accept)
	httpapitest.Equal(t, "left", c.Must("GET", "/v3/urls?limit=1&offset=0&"+rest+"&_=1795261043752", "", accept).Page.TotalCount, 2)
	c.Must("DELETE", "/v3/urls?hashes=one,two", `{"label":"new tag"}`, accept)
	httpapitest.Equal(t, "left", c.Must("GET", "/v3/urls", "").Page.TotalCount, 0)
}
