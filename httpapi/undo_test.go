package httpapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/response"
)

func (c *client) undo(batch string) *answer {
	c.t.Helper()
	a := c.call(http.MethodPost, "/v3/batches/"+batch+"/undo", "")
	a.is(http.StatusOK, apierror.CodeOK)
	equal(c.t, "batch", a.Undo.Batch, batch)
	return a
}

func TestRestore(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(t, "demo")
	c.create(`"long_url":"https://example.com/1","custom_hash":"one","note":"first","tags":["red"]`)
	send(t, s.handler, http.MethodGet, "/one", "", from("192.0.2.1:1", "Firefox"))
	c.must(http.MethodPatch, "/v3/urls/one", `{"urls":[{"note":"second","long_url":"https://example.com/2"}]}`)
	c.must(http.MethodDelete, "/v3/urls/one", "")
	c.call(http.MethodGet, "/v3/urls/one", "").is(http.StatusNotFound, apierror.CodeURLNotFound)
	equal(t, "visit of a deleted one", send(t, s.handler, http.MethodGet, "/one", "").status, http.StatusGone)

	back := c.must(http.MethodPost, "/v3/urls/one/restore", "").URLs[0]
	equal(t, "note", back.Note, "second")
	equal(t, "clicks", back.TotalClicks, 1)
	c.must(http.MethodPost, "/v3/urls/one/restore", `{"version":null}`) // changes nothing
	redirected := send(t, s.handler, http.MethodGet, "/one", "", from("192.0.2.1:1", "Firefox"))
	equal(t, "visit", redirected.header.Get("Location"), "https://example.com/2")
	equal(t, "listed", c.must(http.MethodGet, "/v3/urls?tags=red", "").Page.TotalCount, 1)
	equal(t, "counted", c.counter("urls"), 1)

	c.must(http.MethodPost, "/v3/urls/one/restore", `{"version":0}`)
	first := c.read("one")
	equal(t, "note", first.Note, "first")
	equal(t, "long URL", *first.LongURL, "https://example.com/1")
	equal(t, "tags", strings.Join(first.Tags, " "), "red")
	equal(t, "clicks", first.TotalClicks, 2)
}

func (c *client) counter(name string) int64 {
	c.t.Helper()
	return c.must(http.MethodGet, "/v3/account", "").counter(name)
}

func (a *answer) counter(name string) int64 { return a.Account.Counters[name].Count }

// counters returns the counters of the account in JSON.
func (a *answer) counters() string {
	a.t.Helper()
	encoded, err := json.Marshal(a.Account.Counters)
	if err != nil {
		a.t.Fatal(err)
	}
	return string(encoded)
}

// TestUndoTaggedEdit checks that an edit of all links with a tag, more than are undone at once, is
// undone by its batch id. The two links that were changed since then stay as they are and are
// reported.
func TestUndoTaggedEdit(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(t, "demo")
	for range 11 {
		c.must(http.MethodPost, "/v3/urls", strings.ReplaceAll(batch(50), `"long_url"`, `"tags":["red"],"long_url"`))
	}
	edit := c.must(http.MethodPatch, "/v3/urls?tags=red", `{"urls":[{"note":"all","archived":true}]}`)
	if edit.header.Get("X-Event-Position") == "" {
		t.Error("the response has no position")
	}
	links := c.must(http.MethodGet, "/v3/urls?limit=2", "").URLs
	c.must(http.MethodPatch, "/v3/urls/"+links[0].Hash, `{"urls":[{"note":"mine"}]}`)
	c.must(http.MethodDelete, "/v3/urls/"+links[1].Hash, "")

	for range 2 {
		undo := c.undo(edit.header.Get(response.HeaderBatchID))
		equal(t, "undone", undo.Undo.Undone, 548)
		equal(t, "refused", undo.Undo.Refused, 2)
		fields := make(map[string]string)
		for _, refused := range undo.URLs {
			refused.failed(t, apierror.CodeIncorrectURL, "changed since")
			fields[refused.Hash] = strings.Join(refused.Error.Fields, " ")
		}
		equal(t, "field of the edited one", fields[links[0].Hash], "note")
		equal(t, "field of the deleted one", fields[links[1].Hash], "deleted")
		equal(t, "archived", c.must(http.MethodGet, "/v3/urls?tags=archived", "").Page.TotalCount, 1)
	}
}

// TestUndoStatsReset checks that clicks before and after an undone reset are added up, with each
// visitor counted once.
func TestUndoStatsReset(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(t, "demo")
	visit := func(agent string) { send(t, s.handler, http.MethodGet, "/one", "", from("192.0.2.1:1", agent)) }
	created := c.must(http.MethodPost, "/v3/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"one"}]}`)
	visit(firefox)
	visit(iPhone)
	reset := c.must(http.MethodDelete, "/v3/stats/one", "")
	visit(firefox)
	visit(lynx)
	stats := c.must(http.MethodGet, "/v3/stats/one", "").Stats[0]
	equal(t, "after the reset", [2]int64{stats.TotalClicks, stats.UniqueClicks}, [2]int64{2, 2})
	for range 2 {
		equal(t, "undone", c.undo(reset.header.Get(response.HeaderBatchID)).Undo.Undone, 1)
		stats = c.must(http.MethodGet, "/v3/stats/one", "").Stats[0]
		equal(t, "all", [2]int64{stats.TotalClicks, stats.UniqueClicks}, [2]int64{4, 3})
		equal(t, "of the day", stats.DailyClicks["2026-05-14"], contract.Day{Total: 4, Unique: 3})
	}
	equal(t, "creation undone", c.undo(created.header.Get(response.HeaderBatchID)).Undo.Undone, 1)
	c.call(http.MethodGet, "/v3/urls/one", "").is(http.StatusNotFound, apierror.CodeURLNotFound)
}
