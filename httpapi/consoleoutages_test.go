package httpapi

import (
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"linkledger/projections"
)

// needsNoEventStore are forms about sessions and pasted proofs.
var needsNoEventStore = regexp.MustCompile(`/(sign-out|account|end|console/proofs)$`)

// TestEveryFormWithoutTheEventStore sends the form of each action while the event store is away, and again when it is
// back. Each answers with what was typed, nothing is done before, and each is done once after.
func TestEveryFormWithoutTheEventStore(t *testing.T) {
	t.Parallel()
	s := newSite(t, "", func(cfg *Config) { cfg.RequestTimeout = 5 * time.Second })
	owner := s.client(t, "acme")
	forms := consoleForms(t, s, owner)
	calls := func() int64 { return owner.must("GET", "/v3/activity?limit=1", "").Page.TotalCount }
	before := calls()
	s.events.Stop()
	var sent sync.WaitGroup
	for _, f := range forms {
		f.fields.Set("long_url", "https://example.com/typed")
		sent.Go(func() { f.wantRefused(t) })
	}
	sent.Wait()
	s.events.Start()
	s.caughtUp(t)
	equal(t, "calls that were done without the event store", calls()-before, 0)
	for _, f := range forms {
		before = calls()
		a := f.browser.twice(f.path, f.fields)
		if shown := f.browser.follow(a); shown.status >= http.StatusInternalServerError ||
			strings.Contains(shown.body, "does not work now") {
			t.Errorf("%s, sent again, shows %d\n%s", f.path, shown.status, shown.body)
		}
		if done := calls() - before; done > 1 {
			t.Errorf("%s was done %d times", f.path, done)
		}
	}
}

// wantRefused sends the form, and checks that the page that answers has what was typed.
func (f consoleForm) wantRefused(t *testing.T) {
	t.Helper()
	a := f.browser.post(f.path, f.fields)
	if a.status == http.StatusSeeOther {
		a = f.browser.follow(a)
	}
	if a.status >= http.StatusInternalServerError && a.status != http.StatusServiceUnavailable {
		t.Errorf("%s answers %d\n%s", f.path, a.status, a.body)
	}
	if needsNoEventStore.MatchString(f.path) {
		return
	}
	if said := textOf(a.body); !strings.Contains(said, "try again") && !strings.Contains(said, "Send it again") {
		t.Errorf("%s, without the event store, says\n%s", f.path, said)
	}
	if !strings.Contains(a.body, f.typed()) {
		t.Errorf("%s: what was typed is not shown again\n%s", f.path, a.body)
	}
}

// TestEveryFormWhileReadModelsStandStill sends the form of each action twice while projections are paused. No page
// denies what was done, and each is done once.
func TestEveryFormWhileReadModelsStandStill(t *testing.T) {
	t.Parallel()
	s := newSite(t, "", impatient)
	owner := s.client(t, "acme")
	forms := consoleForms(t, s, owner)
	paused := []string{projections.Links, projections.Tags, projections.Activity}
	s.awaitLevel(t, paused...)
	calls := owner.must("GET", "/v3/activity?limit=1", "").Page.TotalCount
	s.pause(t, paused...)
	for _, f := range forms {
		a := f.browser.twice(f.path, f.fields)
		if !strings.HasSuffix(f.path, "sign-out") {
			shown := f.browser.follow(a)
			for _, wrong := range []string{"This link is deleted", "Restore it", "There is no such link", "does not work now"} {
				if strings.Contains(shown.body, wrong) {
					t.Errorf("%s shows %q\n%s", f.path, wrong, shown.body)
				}
			}
		}
	}
	s.resume(t, paused...)
	s.caughtUp(t)
	if done := owner.must("GET", "/v3/activity?limit=1", "").Page.TotalCount - calls; done > int64(len(forms)) {
		t.Errorf("%d forms made %d calls", len(forms), done)
	}
}
