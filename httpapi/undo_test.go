package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/response"
)

func TestRestore(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "demo")
	c.Create(`"long_url":"https://example.com/1","custom_hash":"one","note":"first","tags":["red"]`)
	httpapitest.Send(t, s.Server, http.MethodGet, "/one", "", httpapitest.From("192.0.2.1:1", "Firefox"))
	c.Must(http.MethodPatch, "/v3/urls/one", `{"urls":[{"note":"second","long_url":"https://example.com/2"}]}`)
	c.Must(http.MethodDelete, "/v3/urls/one", "")
	c.Call(http.MethodGet, "/v3/urls/one", "").Is(http.StatusNotFound, apierror.CodeURLNotFound)
	httpapitest.Equal(t, "visit of a deleted one", httpapitest.Send(t, s.Server, http.MethodGet, "/one", "").Status, http.StatusGone)

	back := c.Must(http.MethodPost, "/v3/urls/one/restore", "").URLs[0]
	httpapitest.Equal(t, "note", back.Note, "second")
	httpapitest.Equal(t, "clicks", back.TotalClicks, 1)
	c.Must(http.MethodPost, "/v3/urls/one/restore", `{"version":null}`) // changes nothing
	redirected := httpapitest.Send(t, s.Server, http.MethodGet, "/one", "", httpapitest.From("192.0.2.1:1", "Firefox"))
	httpapitest.Equal(t, "visit", redirected.Header.Get("Location"), "https://example.com/2")
	httpapitest.Equal(t, "listed", c.Must(http.MethodGet, "/v3/urls?tags=red", "").Page.TotalCount, 1)
	httpapitest.Equal(t, "counted", c.Counter("urls"), 1)

	c.Must(http.MethodPost, "/v3/urls/one/restore", `{"version":0}`)
	first := c.Read("one")
	httpapitest.Equal(t, "note", first.Note, "first")
	httpapitest.Equal(t, "long URL", *first.LongURL, "https://example.com/1")
	httpapitest.Equal(t, "tags", strings.Join(first.Tags, " "), "red")
	httpapitest.Equal(t, "clicks", first.TotalClicks, 2)
}

// TestUndoTaggedEdit checks that an edit of all links with a tag, more than are undone at once, is
// undone by its batch id. The two links that were changed since then stay as they are and are
// reported.
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

// TestUndoStatsReset checks that clicks before and after an undone reset are added up, with each
// visitor counted once.
func TestUndoStatsReset(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "demo")
	visit := func(agent string) {
		httpapitest.Send(t, s.Server, http.MethodGet, "/one", "", httpapitest.From("192.0.2.1:1", agent))
	}
	created := c.Must(http.MethodPost, "/v3/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"one"}]}`)
	visit(httpapitest.Firefox)
	visit(httpapitest.IPhone)
	reset := c.Must(http.MethodDelete, "/v3/stats/one", "")
	visit(httpapitest.Firefox)
	visit(httpapitest.Lynx)
	stats := c.Must(http.MethodGet, "/v3/stats/one", "").Stats[0]
	httpapitest.Equal(t, "after the reset", [2]int64{stats.TotalClicks, stats.UniqueClicks}, [2]int64{2, 2})
	for range 2 {
		httpapitest.Equal(t, "undone", c.Undo(reset.Header.Get(response.HeaderBatchID)).Undo.Undone, 1)
		stats = c.Must(http.MethodGet, "/v3/stats/one", "").Stats[0]
		httpapitest.Equal(t, "all", [2]int64{stats.TotalClicks, stats.UniqueClicks}, [2]int64{4, 3})
		httpapitest.Equal(t, "of the day", stats.DailyClicks["2026-05-14"], contract.Day{Total: 4, Unique: 3})
	}
	httpapitest.Equal(t, "creation undone", c.Undo(created.Header.Get(response.HeaderBatchID)).Undo.Undone, 1)
	c.Call(http.MethodGet, "/v3/urls/one", "").Is(http.StatusNotFound, apierror.CodeURLNotFound)
}
