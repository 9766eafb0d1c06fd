package console_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/pagetest"
	"linkledger/internal/soak"
	"linkledger/queries/queriestest"
)

// TestConsoleWithManyLinks opens lists of an account of 20,000 links, or 100,000 in make soak, in a browser: no page is
// longer than a page.
func TestConsoleWithManyLinks(t *testing.T) {
	t.Parallel()
	s, owner, b := pagetest.NewConsole(t)
	links := soak.N(20_000, 100_000)
	queriestest.LoadLinks(t, s.DB, uuid.MustParse(owner.ID), links)
	inBrowser := func(n int) string {
		return pagetest.Evaluate[string](b, fmt.Sprintf("new Intl.NumberFormat().format(%d)", n))
	}
	all, tagged := inBrowser(links), inBrowser(links/100)
	for path, parts := range map[string][]string{
		"/console/links":                               {all, "Next"},
		"/console/links?offset=5000":                   {all, "Next", "Previous"},
		fmt.Sprint("/console/links?offset=", links-50): {all, "Previous"},
		"/console/links?order_by=clicks":               {all, "Next"},
		"/console/links?order_by=hash":                 {all, "Next"},
		"/console/links?tags=%2Btag7":                  {tagged, "Next", "tag7"},
		"/console/links?search=note+777":               {"777"},
		"/console/links?tags=%2Btag7&order_by=clicks":  {tagged, "Next"},
		"/console/tags":                                {"tag7"},
		"/console/account":                             {"acme"},
	} {
		b.Open(path)
		b.Has(parts...)
		most := 60_000
		if path == "/console/tags" { // two forms for each of 100 tags
			most = 120_000
		}
		if size := len(pagetest.Evaluate[string](b, "document.documentElement.outerHTML")); size > most {
			t.Errorf("%s has %d bytes", path, size)
		}
	}
	b.Quiet()
}

// BenchmarkConsole opens the first page of an account with a million links, and other pages of it.
//
// The condition of the console is that the first page takes less than 100 ms.
func BenchmarkConsole(b *testing.B) {
	const links = 1_000_000
	s := httpapitest.New(b)
	owner := s.Client(b, "acme")
	queriestest.LoadLinks(b, s.DB, uuid.MustParse(owner.ID), links)
	browser := browsertest.NewBrowser(b, s.Server)
	browser.SignInBy(owner)
	for _, path := range []string{
		"/console/links", "/console/links?offset=500000", "/console/links?order_by=clicks", "/console/links?tags=%2Btag7",
		"/console/links?search=note+777", "/console/tags", "/console/deleted",
	} {
		b.Run(path, func(b *testing.B) {
			var slowest time.Duration
			for b.Loop() {
				began := time.Now()
				if a := browser.Call("GET", path, ""); a.Status != http.StatusOK {
					b.Fatalf("%d %s", a.Status, a.Body)
				}
				slowest = max(slowest, time.Since(began))
			}
			b.ReportMetric(float64(slowest)/float64(time.Millisecond), "max-ms")
		})
	}
}
