// Package pagetest opens pages of the consoles in a real browser. It is for tests only.
package pagetest

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"testing"

	"github.com/chromedp/chromedp"

	"linkledger/httpapi"
	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
)

// Chromium starts a separate Chromium for a test. It skips the test if there is no Chromium.
func Chromium(t *testing.T) context.Context {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} { // as in .ci/chromium
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("no Chromium on this machine: .ci/chromium installs it")
	}
	// The browser must outlive the test's context, so that it can be closed properly.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*httpapitest.Timeout)
	t.Cleanup(cancel)
	allocator, stop := chromedp.NewExecAllocator(ctx,
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.Headless, chromedp.NoSandbox,
		chromedp.DisableGPU,
		chromedp.NoFirstRun, chromedp.WSURLReadTimeout(httpapitest.Timeout), chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-dev-shm-usage", true))
	t.Cleanup(stop)
	browser, _ := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		if err := chromedp.Cancel(browser); err != nil {
			t.Errorf("close the browser: %v", err)
		}
	})
	return browser
}

// Serve serves a site until the test ends. The requests with which open pages watch for changes end
// then too, even if they began later.
func Serve(t *testing.T, site http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(site)
	server.Config.BaseContext = func(net.Listener) context.Context { return t.Context() }
	server.Start()
	t.Cleanup(server.Close)
	return server
}

// NewConsole returns a console with an account and a tab that is signed in to it.
func NewConsole(t *testing.T) (*browsertest.Site, *httpapitest.Client, *Tab) {
	t.Helper()
	return NewConsoleBehind(t, func(site http.Handler) http.Handler { return site })
}

// NewConsoleBehind is NewConsole with a handler between the browser and the site.
func NewConsoleBehind(
	t *testing.T, between func(http.Handler) http.Handler, adjust ...func(*httpapi.Config),
) (*browsertest.Site, *httpapitest.Client, *Tab) {
	t.Helper()
	browser := Chromium(t)
	s := browsertest.NewSite(t, "", adjust...)
	server := Serve(t, between(s.Server))
	owner := s.Client(t, "acme")
	b := NewTab(browser, t, server.URL)
	b.SignIn(s, owner)
	return s, owner, b
}
