package audit_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"linkledger/commands/domain"
	"linkledger/commands/restoring"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/response"
	"linkledger/queries"
)

// TestAuditorFindsWhatACallDid goes from a kind of change to the call, to its links, through the whole history of one,
// and to the stored events.
func TestAuditorFindsWhatACallDid(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	owner := s.Client(t, "acme")
	ada, _ := s.Member(t, owner, "ada", "owner")
	ada.Leads("/console/links", url.Values{
		"long_url": {"https://example.com/one"}, "custom_hash": {"one"}, "tags": {"news"},
	}, "/console/links/one")
	created := owner.Must("GET", "/v3/activity?kind=created", "").Activity[0].Batch
	agent := owner.WithKey(`"name":"agent"`)
	for i := range 60 {
		agent.Must("PATCH", "/v3/urls/one", fmt.Sprintf(`{"urls":[{"note":"note %d"}]}`, i))
	}
	for offset := 9; offset < 13; offset++ { // each row has its own actor, and an undo for its own call
		body := ada.Shows(fmt.Sprint("/console/links/one?offset=", offset), "agent")
		if made := strings.Contains(body, created); made != (offset > 10) || strings.Contains(body, ">Name of ada</span>") != made {
			t.Errorf("from %d on the history shows the creation: %t", offset, made)
		}
	}
	owner.Create(`"long_url":"https://example.com/two","custom_hash":"two","tags":["news"]`)
	edited := owner.Must("PATCH", "/v3/urls?tags=%2Bnews", `{"urls":[{"archived":true}]}`).Header.Get(response.HeaderBatchID)
	deleted := owner.Must("DELETE", "/v3/urls/two", "").Header.Get(response.HeaderBatchID)
	undone := owner.Must("POST", "/v3/batches/"+deleted+"/undo", "").Header.Get(response.HeaderBatchID)
	tagged := owner.Must("POST", "/v3/tags", `{"label":"empty"}`).Header.Get(response.HeaderBatchID)
	b, _ := s.Member(t, owner, "the auditor", "auditor")

	body := b.Shows("/console/activity?kind=deleted", "1 deleted", "undone", "/console/activity/"+deleted)
	if strings.Contains(body, edited) {
		t.Errorf("calls that deleted are\n%s", body)
	}
	b.Shows("/console/activity/"+edited, "2 edited", "https://example.com/one", "https://example.com/two", "/console/links/two")
	b.Shows("/console/activity/"+deleted, "1 deleted", "Undone by", "/console/activity/"+undone)
	b.Shows("/console/activity/"+undone, "1 restored", "Undoes", "/console/activity/"+deleted)
	byOperator := uuid.New()
	if changed := s.Commands.RestoreURL(
		httpapitest.WithTimeout(t), domain.Request{Operator: true, Command: byOperator, Batch: byOperator.String()},
		restoring.RestoreURL{Hash: "one", Version: new(int64(0))},
	); changed.Err != nil {
		t.Fatal(changed.Err)
	}
	s.CatchUp(t)
	b.Shows("/console/activity/"+byOperator.String(), "https://example.com/one") // the activity lists no operators
	b.Shows("/console/activity/"+tagged, "1 change of tags", "The call changed tags, and no links")
	for path, status := range map[string]int{uuid.NewString(): http.StatusNotFound, "x": http.StatusBadRequest} {
		if a := b.Call("GET", "/console/activity/"+path, ""); a.Status != status {
			t.Errorf("the call %s answers %d", path, a.Status)
		}
	}

	b.Shows("/console/links/one", "note 59", "note 14", "1 to 50", "Next →", "/console/activity/"+edited)
	older := b.Shows("/console/links/one?offset=50", "note 3", "created", "← Previous", "51 to 64")
	if strings.Contains(older, "note 14<") || strings.Contains(older, "Next →") {
		t.Errorf("the older history is\n%s", older)
	}
	for _, kind := range queries.ActivityKinds() {
		b.Shows("/console/activity?kind="+string(kind), fmt.Sprintf("<option selected>%s</option>", kind))
	}
	for path, last := range map[string]string{
		"/console/activity/" + edited + "?offset=50": "/console/activity/" + edited,
		"/console/links/one?offset=1000":             "/console/links/one?offset=50",
	} {
		if a := b.Call("GET", path, ""); a.Header.Get("Location") != last {
			t.Errorf("%s leads to %d %q", path, a.Status, a.Header.Get("Location"))
		}
	}
	for _, offset := range []string{"-1", "x"} {
		b.Shows("/console/links/one?offset="+offset, "note 59")
	}
	// A refusal under another path leads on from the page of the link.
	refused := ada.Sends("/console/links/one/undo", url.Values{"batch": {uuid.NewString()}})
	if !strings.Contains(refused.Body, `role="alert"`) || !strings.Contains(refused.Body, `href="/console/links/one?offset=50"`) {
		t.Errorf("a refused undo answers %d\n%s", refused.Status, refused.Body)
	}
	// The button of a page proves the events of the page.
	action := regexp.MustCompile(`action="([^"]+/proof[^"]*)"`).FindStringSubmatch(older)
	if len(action) == 0 {
		t.Fatalf("the older history has nothing to prove\n%s", older)
	}
	checked := b.Sends(html.UnescapeString(action[1]), nil)
	httpapitest.Equal(t, "events that are proved", strings.Count(checked.Body, `<tr><td class="n">`), 14)
	if checked.Status != http.StatusOK || !strings.Contains(checked.Body, "The proof holds") ||
		!strings.Contains(html.UnescapeString(checked.Body), `{"hash":"one"`) || !strings.Contains(checked.Body, "/v3/urls/one/proof") {
		t.Errorf("the events as stored are %d\n%s", checked.Status, checked.Body)
	}
	// The undo of a key's calls names the key.
	agent.Create(`"long_url":"https://example.com/three"`)
	byKey := owner.Must("POST", "/v3/keys/"+owner.KeyNamed("agent").ID+"/undo?since=2026-01-01T00:00:00Z", "").
		Header.Get(response.HeaderBatchID)
	b.Shows("/console/activity/"+byKey, "what the <a", "changed since", ">key agent</a>")
	if a := b.Sends("/console/links/none/proof", nil); a.Status != http.StatusNotFound {
		t.Errorf("the proof of no link answers %d", a.Status)
	}
}

// TestLinksOfABatch lists the account's own links of calls by pages, in their present state.
func TestLinksOfABatch(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	owner, other := s.Client(t, "acme"), s.Client(t, "labs")
	made := owner.Must("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/b","custom_hash":"b"},`+
		`{"long_url":"https://example.com/a","custom_hash":"a"},{"long_url":"https://example.com/c","custom_hash":"c"}]}`).
		Header.Get(response.HeaderBatchID)
	owner.Must("DELETE", "/v3/urls/c", "")
	owner.Must("PATCH", "/v3/urls/a", `{"urls":[{"long_url":"https://example.com/new"}]}`)
	list := func(of *httpapitest.Client, query string) string {
		t.Helper()
		a := of.Must("GET", "/v3/batches/"+made+query, "")
		return fmt.Sprint(a.Changed, *a.Page)
	}
	httpapitest.Equal(t, "all", list(owner, ""),
		"[{a https://example.com/new false} {b https://example.com/b false} {c https://example.com/c true}] {3 3 0}")
	httpapitest.Equal(t, "a page", list(owner, "?offset=1&limit=1"), "[{b https://example.com/b false}] {1 3 1}")
	httpapitest.Equal(t, "of another account", list(other, ""), "[] {0 0 0}")
	owner.Call("GET", "/v3/batches/x", "").Is(http.StatusBadRequest, apierror.CodeWrongInput)
	owner.WithKey(`"tags":"+news"`).Call("GET", "/v3/batches/"+made, "").Is(http.StatusForbidden, apierror.CodeAccessDenied)
}
