package httpapi

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/queries/queriestest"
)

// manyLinks is how many links the account of a test of long lists has.
const manyLinks = 100_000

// TestConsoleWithManyLinks opens lists of an account of 100,000 links, in a browser: no page is longer than a page.
func TestConsoleWithManyLinks(t *testing.T) {
	t.Parallel()
	s, owner, b := newConsole(t)
	queriestest.LoadLinks(t, s.db, uuid.MustParse(owner.id), manyLinks)
	const all, tagged = "100\u202f000", "1\u202f000"
	for path, parts := range map[string][]string{
		"/console/links":                              {all, "Next"},
		"/console/links?offset=50000":                 {all, "Next", "Previous"},
		"/console/links?offset=99950":                 {all, "Previous"},
		"/console/links?order_by=clicks":              {all, "Next"},
		"/console/links?order_by=hash":                {all, "Next"},
		"/console/links?tags=%2Btag7":                 {tagged, "Next", "tag7"},
		"/console/links?search=note+777":              {"100", "Next"},
		"/console/links?tags=%2Btag7&order_by=clicks": {tagged, "Next"},
		"/console/tags":                               {"tag7"},
		"/console/account":                            {"acme"},
	} {
		b.open(path)
		b.has(parts...)
		if size := len(evaluated[string](b, "document.documentElement.outerHTML")); size > 60_000 {
			t.Errorf("%s has %d bytes", path, size)
		}
	}
	b.quiet()
}

// BenchmarkConsole opens the first page of an account with a million links, and other pages of it.
//
// The condition of the console is that the first page takes less than 100 ms.
func BenchmarkConsole(b *testing.B) {
	const links = 1_000_000
	s := newStack(b)
	owner := s.client(b, "acme")
	queriestest.LoadLinks(b, s.db, uuid.MustParse(owner.id), links)
	browser := &browser{b, s.handler, make(map[string]*http.Cookie)}
	browser.signInBy(owner)
	for _, path := range []string{
		"/console/links", "/console/links?offset=500000", "/console/links?order_by=clicks", "/console/links?tags=%2Btag7",
		"/console/links?search=note+777", "/console/tags", "/console/deleted",
	} {
		b.Run(path, func(b *testing.B) {
			var slowest time.Duration
			for b.Loop() {
				began := time.Now()
				if a := browser.call("GET", path, ""); a.status != http.StatusOK {
					b.Fatalf("%d %s", a.status, a.body)
				}
				slowest = max(slowest, time.Since(began))
			}
			b.ReportMetric(float64(slowest)/float64(time.Millisecond), "max-ms")
		})
	}
}
