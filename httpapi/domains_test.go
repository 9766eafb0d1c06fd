package httpapi

import (
	"net/http"
	"testing"

	"linkledger/httpapi/apierror"
)

func TestDomains(t *testing.T) {
	t.Parallel()
	s := newStack(t, func(cfg *Config) { cfg.RedirectStatus = http.StatusTemporaryRedirect })
	c := s.client(t, "alice")
	const want = `{"error":{"code":0,"message":""},"version":"3.1","domains":[{"domain":"sho.rt","hash_character_set":"restricted",` +
		`"hash_generation":"random","status":"default","custom_root_page":"","custom_404_page":"","redirect_code":"307","use_https":false}]}` + "\n"
	equal(t, "domains", c.must("GET", "/v3/domains", "").body, want)
	equal(t, "domains of the domain", c.must("GET", "/v3/domains?domain=sho.rt", "").body, want)
	send(t, s.handler, "GET", "/v3/domains", "").is(http.StatusBadRequest, apierror.CodeInvalidKey)
	c.call("POST", "/v3/domains", "{}").is(http.StatusMethodNotAllowed, apierror.CodeMethodNotSupported)
}

// TestOtherDomainsAreRefused checks that a call with another domain is refused and changes nothing.
func TestOtherDomainsAreRefused(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(t, "alice")
	c.must(
		"POST", "/v3/urls?domain=sho.rt",
		`{"urls":[{"long_url":"https://example.com/","custom_hash":"one","tags":["t"]}]}`,
	)
	for _, own := range []string{
		"", "domain=", "domain=SHO.rt", "domain=sho.rt:80", "limit=1&domain=sho.rt", "domain=sho.rt&_=1",
	} {
		c.must("GET", "/v3/urls?"+own, "")
	}
	for _, other := range []string{
		"example.com", "sho.rt:8080", "sho.rt/x", "sho.rt@example.com", "*", "sho.rt%00", "http://sho.rt", "sho.rt%23",
	} {
		a := c.call("GET", "/v3/urls?domain="+other, "")
		a.is(http.StatusNotFound, apierror.CodeDomainNotFound)
		a.has("sho.rt")
	}
	for _, call := range [][3]string{
		{"POST", "/v3/urls?", batch(1)},
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
		c.call(call[0], call[1]+"domain=other.example", call[2]).is(http.StatusNotFound, apierror.CodeDomainNotFound)
		c.call(call[0], call[1]+"domain=sho.rt&%64omain=other.example", call[2]).is(
			http.StatusNotFound, apierror.CodeDomainNotFound,
		)
	}
	equal(t, "URLs", c.must("GET", "/v3/urls", "").Page.TotalCount, 1)
	equal(t, "note", c.read("one").Note, "")
	equal(t, "tags", len(c.must("GET", "/v3/tags", "").Tags), 1)
	send(t, s.handler, "GET", "/v3/urls?domain=other.example", "").is(http.StatusBadRequest, apierror.CodeInvalidKey)
}

// TestDomainOfTheRequest checks that without a base URL the domain is the host of the request, with
// its port.
func TestDomainOfTheRequest(t *testing.T) {
	t.Parallel()
	s := newStack(t, func(cfg *Config) { cfg.BaseURL = "" })
	c := s.client(t, "alice")
	local := func(r *http.Request) { r.Host = "localhost:8080" }
	c.must("GET", "/v3/urls?domain=localhost:8080", "", local)
	c.call("GET", "/v3/urls?domain=localhost", "", local).is(http.StatusNotFound, apierror.CodeDomainNotFound)
	c.call("GET", "/v3/urls?domain=sho.rt", "", local).is(http.StatusNotFound, apierror.CodeDomainNotFound)
}
