package httpapi_test

import (
	"net/http"
	"testing"

	"linkledger/httpapi"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
)

func TestDomains(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t, func(cfg *httpapi.Config) { cfg.RedirectStatus = http.StatusTemporaryRedirect })
	c := s.Client(t, "alice")
	const want = `{"error":{"code":0,"message":""},"version":"3.1","domains":[{"domain":"sho.rt","hash_character_set":"restricted",` +
		`"hash_generation":"random","status":"default","custom_root_page":"","custom_404_page":"","redirect_code":"307","use_https":false}]}` + "\n"
	httpapitest.Equal(t, "domains", c.Must("GET", "/v3/domains", "").Body, want)
	httpapitest.Equal(t, "domains of the domain", c.Must("GET", "/v3/domains?domain=sho.rt", "").Body, want)
	httpapitest.Send(t, s.Server, "GET", "/v3/domains", "").Is(http.StatusBadRequest, apierror.CodeInvalidKey)
	c.Call("POST", "/v3/domains", "{}").Is(http.StatusMethodNotAllowed, apierror.CodeMethodNotSupported)
}

// TestOtherDomainsAreRefused checks that a call with another domain is refused and changes nothing.
func TestOtherDomainsAreRefused(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	c.Must(
		"POST", "/v3/urls?domain=sho.rt",
		`{"urls":[{"long_url":"https://example.com/","custom_hash":"one","tags":["t"]}]}`,
	)
	for _, own := range []string{
		"", "domain=", "domain=SHO.rt", "domain=sho.rt:80", "limit=1&domain=sho.rt", "domain=sho.rt&_=1",
	} {
		c.Must("GET", "/v3/urls?"+own, "")
	}
	for _, other := range []string{
		"example.com", "sho.rt:8080", "sho.rt/x", "sho.rt@example.com", "*", "sho.rt%00", "http://sho.rt", "sho.rt%23",
	} {
		a := c.Call("GET", "/v3/urls?domain="+other, "")
		a.Is(http.StatusNotFound, apierror.CodeDomainNotFound)
		a.Has("sho.rt")
	}
	for _, call := range [][3]string{
		{"POST", "/v3/urls?", httpapitest.Batch(1)},
		{"PATCH", "/v3/urls?hashes=one&", `{"urls":[{"note":"x"}]}`},
		{"PATCH", "/v3/urls/one?", `{"urls":[{"note":"x"}]}`},
		{"DELETE", "/v3/urls?hashes=one&", ""},
		{"DELETE", "/v3/urls?tags=%2Bt&", ""},
		{"DELETE", "/v3/urls/one?", ""},
		{"DELETE", "/v3/stats?hashes=one&", ""},
		{"GET", "/v3/stats/one?", ""},
		{"GET", "/v3/account?", ""},
		{"GET", "/v3/tags?", ""},
		{"POST", "/v3/tags?", `{"label":"u"}`},
		{"DELETE", "/v3/tags/t?", ""},
		{"GET", "/v3/domains?", ""},
	} {
		c.Call(call[0], call[1]+"domain=other.example", call[2]).Is(http.StatusNotFound, apierror.CodeDomainNotFound)
		c.Call(call[0], call[1]+"domain=sho.rt&%64omain=other.example", call[2]).Is(
			http.StatusNotFound, apierror.CodeDomainNotFound,
		)
	}
	httpapitest.Equal(t, "URLs", c.Must("GET", "/v3/urls", "").Page.TotalCount, 1)
	httpapitest.Equal(t, "note", c.Read("one").Note, "")
	httpapitest.Equal(t, "tags", len(c.Must("GET", "/v3/tags", "").Tags), 1)
	httpapitest.Send(t, s.Server, "GET", "/v3/urls?domain=other.example", "").Is(http.StatusBadRequest, apierror.CodeInvalidKey)
}

// TestDomainOfTheRequest checks that without a base URL the domain is the host of the request, with
// its port.
func TestDomainOfTheRequest(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t, func(cfg *httpapi.Config) { cfg.BaseURL = "" })
	c := s.Client(t, "alice")
	local := func(r *http.Request) { r.Host = "localhost:8080" }
	c.Must("GET", "/v3/urls?domain=localhost:8080", "", local)
	c.Call("GET", "/v3/urls?domain=localhost", "", local).Is(http.StatusNotFound, apierror.CodeDomainNotFound)
	c.Call("GET", "/v3/urls?domain=sho.rt", "", local).Is(http.StatusNotFound, apierror.CodeDomainNotFound)
}
