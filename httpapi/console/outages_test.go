package console_test

import (
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"linkledger/httpapi"
	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/pagetest"
	"linkledger/projections"
)

// needsNoEventStore are forms about sessions and pasted proofs.
var needsNoEventStore = regexp.MustCompile(`/(sign-out|account|end|console/proofs)$`)

// TestEveryFormWithoutTheEventStore sends the form of each action while the event store is away, and again when it is
// back. Each answers with what was typed, nothing is done before, and each is done once after.
func TestEveryFormWithoutTheEventStore(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "", func(cfg *httpapi.Config) { cfg.RequestTimeout = 5 * time.Second })
	owner := s.Client(t, "acme")
	forms := consoleForms(t, s, owner)
	calls := func() int64 { return owner.Must("GET", "/v3/activity?limit=1", "").Page.TotalCount }
	before := calls()
	s.Events.Stop()
	var sent sync.WaitGroup
	for _, f := range forms {
		f.fields.Set("long_url", "https://example.com/typed")
		sent.Go(func() { f.wantRefused(t) })
	}
	sent.Wait()
	s.Events.Start()
	s.CatchUp(t)
	httpapitest.Equal(t, "calls that were done without the event store", calls()-before, 0)
	for _, f := range forms {
		before = calls()
		a := pagetest.Twice(f.browser, f.path, f.fields)
		if shown := f.browser.Follow(a); shown.Status >= http.StatusInternalServerError ||
			strings.Contains(shown.Body, "does not work now") {
			t.Errorf("%s, sent again, shows %d\n%s", f.path, shown.Status, shown.Body)
		}
		if done := calls() - before; done > 1 {
			t.Errorf("%s was done %d times", f.path, done)
		}
	}
}

// wantRefused sends the form, and checks that the page that answers has what was typed.
func (f consoleForm) wantRefused(t *testing.T) {
	t.Helper()
	a := f.browser.Post(f.path, f.fields)
	if a.Status == http.StatusSeeOther {
		a = f.browser.Follow(a)
	}
	if a.Status >= http.StatusInternalServerError && a.Status != http.StatusServiceUnavailable {
		t.Errorf("%s answers %d\n%s", f.path, a.Status, a.Body)
	}
	if needsNoEventStore.MatchString(f.path) {
		return
	}
	if said := browsertest.TextOf(a.Body); !strings.Contains(said, "try again") && !strings.Contains(said, "Send it again") {
		t.Errorf("%s, without the event store, says\n%s", f.path, said)
	}
	if !strings.Contains(a.Body, f.typed()) {
		t.Errorf("%s: what was typed is not shown again\n%s", f.path, a.Body)
	}
}

// TestEveryFormWhileReadModelsStandStill sends the form of each action twice while projections are paused. No page
// denies what was done, and each is done once.
func TestEveryFormWhileReadModelsStandStill(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "", httpapitest.Impatient)
	owner := s.Client(t, "acme")
	forms := consoleForms(t, s, owner)
	paused := []string{projections.Links, projections.Tags, projections.Activity}
	s.AwaitLevel(t, paused...)
	calls := owner.Must("GET", "/v3/activity?limit=1", "").Page.TotalCount
	s.Pause(t, paused...)
	for _, f := range forms {
		a := pagetest.Twice(f.browser, f.path, f.fields)
		if !strings.HasSuffix(f.path, "sign-out") {
			shown := f.browser.Follow(a)
			for _, wrong := range []string{"This link is deleted", "Restore it", "There is no such link", "does not work now"} {
				if strings.Contains(shown.Body, wrong) {
					t.Errorf("%s shows %q\n%s", f.path, wrong, shown.Body)
				}
			}
		}
	}
	s.Resume(t, paused...)
	s.CatchUp(t)
	if done := owner.Must("GET", "/v3/activity?limit=1", "").Page.TotalCount - calls; done > int64(len(forms)) {
		t.Errorf("%d forms made %d calls", len(forms), done)
	}
}
