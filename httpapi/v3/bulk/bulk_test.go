package bulk_test

import (
	"net/http"
	"strings"
	"testing"

	"linkledger/httpapi"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/response"
)

// TestTaggedChangeIsRepeatable checks a change of more URLs than operationPortion that is
// interrupted halfway and repeated. It must end as if it had not been interrupted.
func TestTaggedChangeIsRepeatable(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t, func(cfg *httpapi.Config) { cfg.OperationTimeout = httpapitest.Timeout / 12 })
	c := s.Client(t, "alice")
	const urls, perCall = 12 * httpapitest.OperationPortion, 50
	items := strings.Repeat(`,{"long_url":"https://example.com/","tags":["t"]}`, perCall)
	for range urls / perCall {
		c.Must("POST", "/v3/urls", `{"urls":[`+items[1:]+`]}`)
	}
	matching := func(query string) int64 { return c.Must("GET", "/v3/urls?"+query, "").Page.TotalCount }

	cutOff := make(chan *httpapitest.Answer)
	go func() {
		cutOff <- c.Call("PATCH", "/v3/urls?tags=t,~archived", `{"urls":[{"archived":true,"note":"done"}]}`)
	}()
	for ctx := httpapitest.WithTimeout(t); matching("tags=archived") == 0; {
		if ctx.Err() != nil {
			t.Fatal("the change never began")
		}
	}
	s.Events.Stop()
	interrupted := func(a *httpapitest.Answer) {
		t.Helper()
		if a.Status != http.StatusTooManyRequests { // then it took longer than a call may
			a.Is(http.StatusServiceUnavailable, apierror.CodeUnknown)
		}
	}
	if a := <-cutOff; a.Status != http.StatusOK { // OK if the change was faster
		interrupted(a)
	}
	s.Events.Start()
	for ctx := httpapitest.WithTimeout(t); ; {
		a := c.Call("PATCH", "/v3/urls?tags=t,~archived", `{"urls":[{"archived":true,"note":"done"}]}`)
		if a.Status == http.StatusOK {
			break
		}
		interrupted(a)
		if ctx.Err() != nil {
			t.Fatal("the change did not succeed in time")
		}
	}
	s.CatchUp(t)
	httpapitest.Equal(t, "done", matching("search=done&tags=archived"), urls)
	httpapitest.Equal(t, "left out", matching("tags=~archived"), 0)
}

// TestOperationsGoOnWithTheReadModels checks that an operation appends at most operationPortion
// changes before the read models show them. Otherwise the writes of other accounts would wait
// behind the whole operation.
func TestOperationsGoOnWithTheReadModels(t *testing.T) {
	t.Parallel()
	g := httpapitest.NewBarrier()
	s := httpapitest.New(t, g.Adjust)
	c := s.Client(t, "alice")
	item := `,{"long_url":"https://example.com/","tags":["t"]}`
	for range 4 {
		c.Must("POST", "/v3/urls", `{"urls":[`+strings.Repeat(item, httpapitest.OperationPortion)[1:]+`]}`)
	}
	g.Closed.Store(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Must("PATCH", "/v3/urls?tags=t", `{"urls":[{"archived":true}]}`)
	}()
	<-g.Arrived
	s.CatchUp(t)
	httpapitest.Equal(
		t, "changed before the read models show the first operationPortion",
		c.Must("GET", "/v3/urls?tags=archived", "").Page.TotalCount, httpapitest.OperationPortion,
	)
	close(g.Open)
	<-done
	httpapitest.Equal(t, "changed", c.Must("GET", "/v3/urls?tags=archived", "").Page.TotalCount, 4*httpapitest.OperationPortion)
}

// TestUndoTaggedEdit checks that an edit of all links with a tag, more than are undone at once, is undone by its batch
// id. The two links that were changed since then stay unchanged and are reported.
func TestUndoTaggedEdit(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "demo")
	for range 11 {
		c.Must(http.MethodPost, "/v3/urls", strings.ReplaceAll(httpapitest.Batch(50), `"long_url"`, `"tags":["red"],"long_url"`))
	}
	edit := c.Must(http.MethodPatch, "/v3/urls?tags=red", `{"urls":[{"note":"all","archived":true}]}`)
	if edit.Header.Get("X-Event-Position") == "" {
		t.Error("the response has no position")
	}
	links := c.Must(http.MethodGet, "/v3/urls?limit=2", "").URLs
	c.Must(http.MethodPatch, "/v3/urls/"+links[0].Hash, `{"urls":[{"note":"mine"}]}`)
	c.Must(http.MethodDelete, "/v3/urls/"+links[1].Hash, "")

	for range 2 {
		undo := c.Undo(edit.Header.Get(response.HeaderBatchID))
		httpapitest.Equal(t, "undone", undo.Undo.Undone, 548)
		httpapitest.Equal(t, "refused", undo.Undo.Refused, 2)
		fields := make(map[string]string)
		for _, refused := range undo.URLs {
			refused.Failed(t, apierror.CodeIncorrectURL, "changed since")
			fields[refused.Hash] = strings.Join(refused.Error.Fields, " ")
		}
		httpapitest.Equal(t, "field of the edited one", fields[links[0].Hash], "note")
		httpapitest.Equal(t, "field of the deleted one", fields[links[1].Hash], "deleted")
		httpapitest.Equal(t, "archived", c.Must(http.MethodGet, "/v3/urls?tags=archived", "").Page.TotalCount, 1)
	}
}
