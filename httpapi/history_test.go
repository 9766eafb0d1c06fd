package httpapi_test

import (
	"net/http"
	"testing"

	"linkledger/commands/audit"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/request"
)

func TestHistory(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "demo")
	c.Create(`"long_url":"https://example.com/1","custom_hash":"one"`)
	c.Must(
		http.MethodPatch, "/v3/urls/one", `{"urls":[{"custom_hash":"two","note":"moved"}]}`,
		httpapitest.Header(request.HeaderID, "edit-1"),
	)
	httpapitest.Send(t, s.Server, http.MethodGet, "/two", "", httpapitest.From("192.0.2.1:1", "Firefox"))

	a := c.Must(http.MethodGet, "/v3/urls/one/history", "")
	if len(a.History.Links) != 1 || len(a.History.Links[0].Hashes) != 2 || a.History.Links[0].Account != c.ID {
		t.Fatalf("links: %s", a.Body)
	}
	httpapitest.Equal(t, "clicks of the day", a.History.Links[0].DailyClicks["2026-05-14"], contract.Day{Total: 1, Unique: 1})
	types := []string{
		"hash.claimed.v1", "url.created.v1", "url.renamed.v1", "url.settings_changed.v1", "hash.released.v1",
	}
	httpapitest.Equal(t, "events", len(a.History.Events), len(types))
	for i, e := range a.History.Events {
		httpapitest.Equal(t, "type", e.Type, types[i])
		httpapitest.Equal(t, "account", e.Actor.Account, c.ID)
		if e.Actor.Kind != string(audit.ByAccount) || e.Actor.Key == "" || e.Batch == "" || e.Link != a.History.Links[0].ID {
			t.Errorf("event %d: %+v", i, e)
		}
	}
	edit := a.History.Events[3]
	httpapitest.Equal(t, "request", edit.Request, "edit-1")
	change := edit.Changes[0]
	httpapitest.Equal(t, "change", change.Field+string(change.Before)+string(change.After), `note"""moved"`)

	a = c.Must(http.MethodGet, "/v3/urls/one/history?offset=1&limit=2", "")
	httpapitest.Equal(t, "page", *a.Page, contract.Page{ResultsCount: 2, TotalCount: 5, Offset: 1})
	httpapitest.Equal(t, "first of the page", a.History.Events[0].Type, "url.created.v1")
	for order, first := range map[string]string{"created": "url.settings_changed.v1", "-created": "url.created.v1"} {
		a = c.Must(http.MethodGet, "/v3/urls/one/history?offset=1&limit=2&order_by="+order, "")
		httpapitest.Equal(t, "page in the order "+order, *a.Page, contract.Page{ResultsCount: 2, TotalCount: 5, Offset: 1})
		httpapitest.Equal(t, "first of the page in the order "+order, a.History.Events[0].Type, first)
	}
	c.Call(http.MethodGet, "/v3/urls/one/history?order_by=hash", "").Is(http.StatusBadRequest, apierror.CodeWrongInput)
	a = c.Must(http.MethodGet, "/v3/urls/one/history?offset=99999999999999999999", "")
	httpapitest.Equal(t, "results behind the end", a.Page.ResultsCount, 0)

	c.Must(http.MethodDelete, "/v3/urls/two", "")
	a = c.Must(http.MethodGet, "/v3/urls/two/history", "")
	httpapitest.Equal(t, "last event", a.History.Events[len(a.History.Events)-1].Type, "hash.released.v1")
}
