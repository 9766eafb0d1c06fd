package httpapi_test

import (
	"net/http"
	"testing"

	"linkledger/httpapi"
	"linkledger/httpapi/httpapitest"
)

func TestOneOfTheTwoIsServed(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	c.Create(`"long_url":"https://example.com/","custom_hash":"one"`)
	cfg := s.Server.Config()
	cfg.Redirects = false
	api, err := httpapi.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Redirects, cfg.API = true, false
	redirects, err := httpapi.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	httpapitest.Equal(t, "redirect by the API", httpapitest.Send(t, api, "GET", "/one", "").Status, http.StatusNotFound)
	httpapitest.Equal(t, "redirect", httpapitest.Send(t, redirects, "GET", "/one", "").Status, http.StatusFound)
	httpapitest.Equal(t, "API by redirects", httpapitest.Send(t, redirects, "GET", "/v3/urls", "").Status, http.StatusNotFound)
	c.Handler = api
	c.Read("one")
	for _, status := range []int{301, 302, 307, 308} {
		cfg.RedirectStatus = status
		redirects, err := httpapi.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		a := httpapitest.Send(t, redirects, "GET", "/one", "")
		httpapitest.Equal(t, "status", a.Status, status)
		httpapitest.Equal(t, "Cache-Control", a.Header.Get("Cache-Control"), "private, no-store")
	}
}
