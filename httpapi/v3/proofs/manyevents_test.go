package proofs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"linkledger/events/archive"
	"linkledger/httpapi"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
	"linkledger/internal/soak"
)

// fileBody returns the body of a call that checks a file.
func fileBody(t *testing.T, file string) string {
	t.Helper()
	body, err := json.Marshal(map[string]string{"file": file})
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestProofsOfManyEventsAskOnce proves a link of many events and checks an export of them. Neither makes more queries
// the more events there are.
func TestProofsOfManyEventsAskOnce(t *testing.T) {
	t.Parallel()
	events, most := soak.N(60, 499), 12
	s := httpapitest.New(t)
	c := s.Client(t, "acme")
	c.Create(`"long_url":"https://example.com/1","custom_hash":"one"`)
	for i := range events - 2 {
		c.Must("PATCH", "/v3/urls/one", fmt.Sprintf(`{"urls":[{"max_clicks":%d}]}`, i+1))
	}
	file := s.Exported(t, archive.NDJSON, c.ID)
	measured := func(what string, call func()) {
		t.Helper()
		call() // waits for the tree
		s.Queries.Reset("")
		began := time.Now()
		call()
		took, queries := time.Since(began), len(s.Queries.Reset("tree_tiles"))
		t.Logf("%s of %d events: %d queries in %s", what, events, queries, took)
		if queries == 0 || queries > most {
			t.Errorf("%s of %d events makes %d queries of the tree; want 1 to %d", what, events, queries, most)
		}
	}
	measured("proof", func() {
		httpapitest.Equal(t, "events proved", c.Must("GET", "/v3/urls/one/proof?limit=500", "").Proof.Events, events)
	})
	measured("check of an export", func() {
		if check := c.Check(file); !check.InLog || check.Export == nil || check.Export.Events < int64(events) {
			t.Errorf("the check says %+v %+v", check, check.Export)
		}
	})
}

// TestChecksOfAnAccountTakeTurns checks that the checks of an account run one at a time, that some wait, and that the
// calls of another account do not.
func TestChecksOfAnAccountTakeTurns(t *testing.T) {
	t.Parallel()
	const waiting = 4
	open, arrived := make(chan struct{}), make(chan struct{}, 2+waiting)
	var closed atomic.Bool
	s := httpapitest.New(t, func(cfg *httpapi.Config) {
		wait := cfg.Projections.Wait
		cfg.Projections.Wait = func(ctx context.Context, projection string, position uint64) error {
			if projection == "tree" && closed.Load() {
				arrived <- struct{}{}
				<-open
			}
			return wait(ctx, projection, position)
		}
	})
	c, other := s.Client(t, "acme"), s.Client(t, "other")
	body := fileBody(t, s.Exported(t, archive.NDJSON, c.ID))
	closed.Store(true)
	answers := make(chan *httpapitest.Answer, 2+waiting)
	var calls sync.WaitGroup
	for range 2 + waiting {
		calls.Go(func() { answers <- c.Call("POST", "/v3/proofs", body) })
	}
	a := <-answers
	a.Is(http.StatusTooManyRequests, apierror.CodeCallLimit)
	if a.Header.Get("Retry-After") == "" {
		t.Errorf("too many checks: %v", a.Header)
	}
	<-arrived
	if len(arrived) > 0 {
		t.Error("two checks of an account run at the same time")
	}
	c.Must("GET", "/v3/urls", "") // other calls do not wait
	closed.Store(false)
	other.Must("POST", "/v3/proofs", body)
	close(open)
	calls.Wait()
	for range 1 + waiting {
		(<-answers).Is(http.StatusOK, apierror.CodeOK)
	}
}

// TestChecksEndWithTheirClient checks that a check, which reads only, ends when its client leaves, also as a page.
func TestChecksEndWithTheirClient(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	c := s.Client(t, "acme")
	file := s.Exported(t, archive.NDJSON, c.ID)
	b := s.Browser(t)
	b.SignInBy(c)
	ctx, leave := context.WithCancel(t.Context())
	leave()
	left := func(r *http.Request) { *r = *r.WithContext(ctx) }
	httpapitest.Equal(t, "check", c.Call("POST", "/v3/proofs", fileBody(t, file), left).Status, apierror.StatusClientLeft)
	page := b.Call("POST", "/console/proofs", "text="+strings.ReplaceAll(file, "\n", "%0A"), left,
		httpapitest.Header("Content-Type", "application/x-www-form-urlencoded"), httpapitest.Header("Sec-Fetch-Site", "same-origin"))
	if shown := b.Follow(page); !strings.Contains(shown.Body, `role="alert"`) {
		t.Errorf("the check of a page goes on without its client\n%s", shown.Body)
	}
}
