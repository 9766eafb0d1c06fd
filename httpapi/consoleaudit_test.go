package httpapi

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
	"linkledger/httpapi/response"
	"linkledger/queries"
)

// TestAuditorFindsWhatACallDid goes from a kind of change to the call, to its links, through the whole history of one,
// and to the events as they are stored.
func TestAuditorFindsWhatACallDid(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	owner := s.client(t, "acme")
	ada, _ := s.member(t, owner, "ada", "owner")
	ada.leads("/console/links", url.Values{
		"long_url": {"https://example.com/one"}, "custom_hash": {"one"}, "tags": {"news"},
	}, "/console/links/one")
	created := owner.must("GET", "/v3/activity?kind=created", "").Activity[0].Batch
	agent := owner.withKey(`"name":"agent"`)
	for i := range 60 {
		agent.must("PATCH", "/v3/urls/one", fmt.Sprintf(`{"urls":[{"note":"note %d"}]}`, i))
	}
	for offset := 9; offset < 13; offset++ { // each row has its own actor, and an undo for its own call
		body := ada.shows(fmt.Sprint("/console/links/one?offset=", offset), "agent")
		if made := strings.Contains(body, created); made != (offset > 10) || strings.Contains(body, ">Name of ada</span>") != made {
			t.Errorf("from %d on the history shows the creation: %t", offset, made)
		}
	}
	owner.create(`"long_url":"https://example.com/two","custom_hash":"two","tags":["news"]`)
	edited := owner.must("PATCH", "/v3/urls?tags=%2Bnews", `{"urls":[{"archived":true}]}`).header.Get(response.HeaderBatchID)
	deleted := owner.must("DELETE", "/v3/urls/two", "").header.Get(response.HeaderBatchID)
	undone := owner.must("POST", "/v3/batches/"+deleted+"/undo", "").header.Get(response.HeaderBatchID)
	tagged := owner.must("POST", "/v3/tags", `{"label":"empty"}`).header.Get(response.HeaderBatchID)
	b, _ := s.member(t, owner, "the auditor", "auditor")

	body := b.shows("/console/activity?kind=deleted", "1 deleted", "undone", "/console/activity/"+deleted)
	if strings.Contains(body, edited) {
		t.Errorf("calls that deleted are\n%s", body)
	}
	b.shows("/console/activity/"+edited, "2 edited", "https://example.com/one", "https://example.com/two", "/console/links/two")
	b.shows("/console/activity/"+deleted, "1 deleted", "Undone by", "/console/activity/"+undone)
	b.shows("/console/activity/"+undone, "1 restored", "Undoes", "/console/activity/"+deleted)
	byOperator := uuid.New()
	if changed := s.commands.RestoreURL(
		withTimeout(t), domain.Request{Operator: true, Command: byOperator, Batch: byOperator.String()},
		restoring.RestoreURL{Hash: "one", Version: new(int64(0))},
	); changed.Err != nil {
		t.Fatal(changed.Err)
	}
	s.caughtUp(t)
	b.shows("/console/activity/"+byOperator.String(), "https://example.com/one") // the activity lists no operators
	b.shows("/console/activity/"+tagged, "1 change of tags", "The call changed tags, and no links")
	for path, status := range map[string]int{uuid.NewString(): http.StatusNotFound, "x": http.StatusBadRequest} {
		if a := b.call("GET", "/console/activity/"+path, ""); a.status != status {
			t.Errorf("the call %s answers %d", path, a.status)
		}
	}

	b.shows("/console/links/one", "note 59", "note 14", "1 to 50", "Next →", "/console/activity/"+edited)
	older := b.shows("/console/links/one?offset=50", "note 3", "created", "← Previous", "51 to 64")
	if strings.Contains(older, "note 14<") || strings.Contains(older, "Next →") {
		t.Errorf("the older history is\n%s", older)
	}
	for _, kind := range queries.ActivityKinds() {
		b.shows("/console/activity?kind="+string(kind), fmt.Sprintf("<option selected>%s</option>", kind))
	}
	for path, last := range map[string]string{
		"/console/activity/" + edited + "?offset=50": "/console/activity/" + edited,
		"/console/links/one?offset=1000":             "/console/links/one?offset=50",
	} {
		if a := b.call("GET", path, ""); a.header.Get("Location") != last {
			t.Errorf("%s leads to %d %q", path, a.status, a.header.Get("Location"))
		}
	}
	for _, offset := range []string{"-1", "x"} {
		b.shows("/console/links/one?offset="+offset, "note 59")
	}
	// A refusal under another path leads on from the page of the link.
	refused := ada.sends("/console/links/one/undo", url.Values{"batch": {uuid.NewString()}})
	if !strings.Contains(refused.body, `role="alert"`) || !strings.Contains(refused.body, `href="/console/links/one?offset=50"`) {
		t.Errorf("a refused undo answers %d\n%s", refused.status, refused.body)
	}
	// The button of a page proves the events of the page.
	action := regexp.MustCompile(`action="([^"]+/proof[^"]*)"`).FindStringSubmatch(older)
	if len(action) == 0 {
		t.Fatalf("the older history has nothing to prove\n%s", older)
	}
	checked := b.sends(html.UnescapeString(action[1]), nil)
	equal(t, "events that are proved", strings.Count(checked.body, `<tr><td class="n">`), 14)
	if checked.status != http.StatusOK || !strings.Contains(checked.body, "The proof holds") ||
		!strings.Contains(html.UnescapeString(checked.body), `{"hash":"one"`) || !strings.Contains(checked.body, "/v3/urls/one/proof") {
		t.Errorf("the events as stored are %d\n%s", checked.status, checked.body)
	}
	// The undo of what a key did tells of which key.
	agent.create(`"long_url":"https://example.com/three"`)
	byKey := owner.must("POST", "/v3/keys/"+owner.keyNamed("agent").ID+"/undo?since=2026-01-01T00:00:00Z", "").
		header.Get(response.HeaderBatchID)
	b.shows("/console/activity/"+byKey, "what the <a", "changed since", ">key agent</a>")
	if a := b.sends("/console/links/none/proof", nil); a.status != http.StatusNotFound {
		t.Errorf("the proof of no link answers %d", a.status)
	}
}

// TestLinksOfABatch lists the links of calls by pages, as they are now, those of the account alone.
func TestLinksOfABatch(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	owner, other := s.client(t, "acme"), s.client(t, "labs")
	made := owner.must("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/b","custom_hash":"b"},`+
		`{"long_url":"https://example.com/a","custom_hash":"a"},{"long_url":"https://example.com/c","custom_hash":"c"}]}`).
		header.Get(response.HeaderBatchID)
	owner.must("DELETE", "/v3/urls/c", "")
	owner.must("PATCH", "/v3/urls/a", `{"urls":[{"long_url":"https://example.com/new"}]}`)
	list := func(of *client, query string) string {
		t.Helper()
		a := of.must("GET", "/v3/batches/"+made+query, "")
		return fmt.Sprint(a.Changed, *a.Page)
	}
	equal(t, "all", list(owner, ""),
		"[{a https://example.com/new false} {b https://example.com/b false} {c https://example.com/c true}] {3 3 0}")
	equal(t, "a page", list(owner, "?offset=1&limit=1"), "[{b https://example.com/b false}] {1 3 1}")
	equal(t, "of another account", list(other, ""), "[] {0 0 0}")
	owner.call("GET", "/v3/batches/x", "").is(http.StatusBadRequest, apierror.CodeWrongInput)
	owner.withKey(`"tags":"+news"`).call("GET", "/v3/batches/"+made, "").is(http.StatusForbidden, apierror.CodeAccessDenied)
}

// TestConsoleNarrowsDays chooses days of the clicks of a link.
func TestConsoleNarrowsDays(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	owner := s.client(t, "acme")
	owner.create(`"long_url":"https://example.com/","custom_hash":"one"`)
	for _, of := range []struct {
		day    string
		clicks int
	}{{"2026-01-10", 1}, {"2026-05-14", 1}, {"2026-05-20", 2}, {"2026-05-21", 4}} {
		s.at(t, of.day+"T12:00:00Z")
		for range of.clicks {
			s.visit(t, "GET", "/one")
		}
	}
	b := s.browser(t)
	b.signInBy(owner)
	for days, shows := range map[string][]string{
		"from=2026-05-20&to=2026-05-20": {"Clicks by visitor, 2026-05-20", "2 of 8 clicks", `class="chosen"`, "2026-05-14: 1"},
		"from=2026-05-14&to=2026-05-20": {"Clicks by visitor, 2026-05-14 to 2026-05-20", "3 of 8 clicks"},
		"from=2026-05-15":               {"Clicks by visitor, since 2026-05-15", "6 of 8 clicks"},
		"to=2026-05-20":                 {"Clicks by visitor, until 2026-05-20", "4 of 8 clicks"},
		"from=2026-01-10&to=2026-01-10": {"2026-01-10: 1", `class="chosen"`},
		"from=2026-06-01&to=2026-06-30": {"No clicks on these days"},
	} {
		body := b.shows("/console/links/one?"+days, append(shows, "All days")...)
		if !strings.HasPrefix(days, "from=2026-05-20") && strings.Contains(body, "2026-05-14: 1") && strings.Contains(body, "2026-05-21: 4") {
			t.Errorf("with %s all days are charted", days)
		}
	}
	reversed := b.call("GET", "/console/links/one?from=2026-05-20&to=2026-05-14", "")
	if reversed.status != http.StatusBadRequest || !strings.Contains(reversed.body, "The range ends before it begins") {
		t.Errorf("a reversed range answers %d\n%s", reversed.status, reversed.body)
	}
	wrong := b.call("GET", "/console/links/one?from=soon", "")
	if wrong.status != http.StatusBadRequest || !strings.Contains(wrong.body, `role="alert"`) || !strings.Contains(wrong.body, "2026-05-21: 4") ||
		!strings.Contains(wrong.body, `value="soon"`) || !strings.Contains(wrong.body, ">8</data>") {
		t.Errorf("a wrong day answers %d\n%s", wrong.status, wrong.body)
	}
}
