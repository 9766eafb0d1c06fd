package httpapi

import (
	"encoding/json"
	"net/http"
	"testing"

	"linkledger/commands/audit"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
)

// history is a response with the history of a hash.
type history struct {
	History struct {
		Hash  string `json:"hash"`
		Links []struct {
			ID          string              `json:"id"`
			Account     string              `json:"account"`
			Hashes      []audit.Tenure      `json:"hashes"`
			DailyClicks map[string]shownDay `json:"daily_clicks"`
		} `json:"links"`
		Events []struct {
			Position uint64              `json:"position"`
			Type     string              `json:"type"`
			Link     string              `json:"link"`
			Actor    audit.Actor         `json:"actor"`
			Request  string              `json:"request"`
			Batch    string              `json:"batch"`
			Changes  []audit.FieldChange `json:"changes"`
		} `json:"events"`
	} `json:"history"`
}

func (c *client) history(path string) (*answer, history) {
	c.t.Helper()
	a := c.must(http.MethodGet, path, "")
	var h history
	if err := json.Unmarshal([]byte(a.body), &h); err != nil {
		c.t.Fatal(err)
	}
	return a, h
}

func TestHistory(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(t, "demo")
	c.create(`"long_url":"https://example.com/1","custom_hash":"one"`)
	c.must(
		http.MethodPatch, "/v3/urls/one", `{"urls":[{"custom_hash":"two","note":"moved"}]}`,
		header(request.HeaderID, "edit-1"),
	)
	send(t, s.handler, http.MethodGet, "/two", "", from("192.0.2.1:1", "Firefox"))

	a, h := c.history("/v3/urls/one/history")
	if len(h.History.Links) != 1 || len(h.History.Links[0].Hashes) != 2 || h.History.Links[0].Account != c.id {
		t.Fatalf("links: %s", a.body)
	}
	equal(t, "clicks of the day", h.History.Links[0].DailyClicks["2026-05-14"], shownDay{Total: 1, Unique: 1})
	types := []string{
		"hash.claimed.v1", "url.created.v1", "url.renamed.v1", "url.settings_changed.v1", "hash.released.v1",
	}
	equal(t, "events", len(h.History.Events), len(types))
	for i, e := range h.History.Events {
		equal(t, "type", e.Type, types[i])
		equal(t, "account", e.Actor.Account, c.id)
		if e.Actor.Kind != audit.ByAccount || e.Actor.Key == "" || e.Batch == "" || e.Link != h.History.Links[0].ID {
			t.Errorf("event %d: %+v", i, e)
		}
	}
	edit := h.History.Events[3]
	equal(t, "request", edit.Request, "edit-1")
	equal(t, "change", edit.Changes[0], audit.FieldChange{Field: "note", Before: "", After: "moved"})

	a, h = c.history("/v3/urls/one/history?offset=1&limit=2")
	equal(t, "page", *a.Page, response.Page{ResultsCount: 2, TotalCount: 5, Offset: 1})
	equal(t, "first of the page", h.History.Events[0].Type, "url.created.v1")
	a, _ = c.history("/v3/urls/one/history?offset=99999999999999999999")
	equal(t, "results behind the end", a.Page.ResultsCount, 0)

	c.must(http.MethodDelete, "/v3/urls/two", "")
	_, h = c.history("/v3/urls/two/history")
	equal(t, "last event", h.History.Events[len(h.History.Events)-1].Type, "hash.released.v1")
}
