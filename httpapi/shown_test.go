package httpapi

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/response"
)

// The fields of a URL, by the scope that shows them.
const (
	nameFields   = "hash links short_url short_url_with_protocol"
	ownerFields  = "archived created_at email_stats expiration_date long_url max_clicks modified_at note ping protected tags"
	clicksFields = "last_visit total_clicks unique_clicks visited"
)

// fieldsOf returns the sorted names of the first record of an answer, without its error.
func (a *answer) fieldsOf(list string) string {
	a.t.Helper()
	var body map[string]json.RawMessage
	var records []map[string]json.RawMessage
	if err := json.Unmarshal([]byte(a.body), &body); err != nil {
		a.t.Fatal(err)
	}
	if err := json.Unmarshal(body[list], &records); err != nil || len(records) == 0 {
		a.t.Fatalf("%v: no %s in %s", err, list, a.body)
	}
	delete(records[0], "error")
	return strings.Join(slices.Sorted(maps.Keys(records[0])), " ")
}

func sorted(fields ...string) string {
	all := strings.Fields(strings.Join(fields, " "))
	slices.Sort(all)
	return strings.Join(all, " ")
}

// TestAnswersShowWhatTheScopesAllow checks every call that answers a URL, with keys of some scopes.
func TestAnswersShowWhatTheScopesAllow(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	owner := s.client(t, "owner")
	owner.create(`"long_url":"https://example.com/private","custom_hash":"one","note":"private","tags":["private"],"max_clicks":7`)
	s.visit(t, "GET", "/one")
	repeat := header("Idempotency-Key", "k")
	const made = `{"urls":[{"long_url":"https://example.com/own","tags":[" OWN "],"note":"own"}]}`
	first := owner.must("POST", "/v3/urls", made, repeat).URLs[0].Hash
	owner.must("PATCH", "/v3/urls/"+first, `{"urls":[{"long_url":"https://example.com/private","note":"private","max_clicks":9,"tags":["private"]}]}`)
	owner.create(`"long_url":"https://example.com/private","custom_hash":"gone"`)
	owner.must("DELETE", "/v3/urls/gone", "")
	keys := map[string]*client{}
	for _, scopes := range []string{"links:read", "links:create", "links:write", "links:write stats:read", "links:read links:write", "history:read"} {
		keys[scopes] = owner.withKey(`"scopes":["` + strings.Join(strings.Fields(scopes), `","`) + `"]`)
	}
	keys["all"] = owner
	const nothing, note, all = `{"urls":[{}]}`, `{"urls":[{"note":"mine","expiration_date":null,"tags":["PRIVATE"]}]}`,
		nameFields + " " + ownerFields + " " + clicksFields
	for _, tc := range []struct{ scopes, method, path, body, want string }{
		{"all", "GET", "/v3/urls/one", "", all},
		{"all", "PATCH", "/v3/urls/one", nothing, all},
		{"all", "POST", "/v3/urls", made, all},
		{"all", "POST", "/v3/urls/gone/restore", "", all},
		{"links:read", "GET", "/v3/urls/one", "", sorted(nameFields, ownerFields)},
		{"links:read", "GET", "/v3/urls", "", sorted(nameFields, ownerFields)},
		{"links:read", "GET", "/v3/urls?hashes=one", "", sorted(nameFields, ownerFields)},
		{"links:read", "GET", "/v3/urls?at=" + strings.ReplaceAll(s.syncClock(), "+", "%2B"), "", sorted(nameFields, ownerFields)},
		{"links:write", "PATCH", "/v3/urls/one", nothing, nameFields},
		{"links:write", "PATCH", "/v3/urls/one", note, sorted(nameFields, "note expiration_date")},
		{"links:write", "PATCH", "/v3/urls", `{"urls":[{"hash":"one","protected":false}]}`, sorted(nameFields, "protected")},
		{"links:write", "PATCH", "/v3/urls?hashes=one", `{"urls":[{"long_url":"https://example.com/x"}]}`, sorted(nameFields, "long_url")},
		{"links:write", "POST", "/v3/urls/one/restore", `{"version":0}`, nameFields},
		{"links:write stats:read", "PATCH", "/v3/urls/one", nothing, sorted(nameFields, clicksFields)},
		{"links:read links:write", "PATCH", "/v3/urls/one", nothing, sorted(nameFields, ownerFields)},
		{"links:create", "POST", "/v3/urls", made, strings.Replace(sorted(nameFields, ownerFields), "modified_at ", "", 1)},
	} {
		a := keys[tc.scopes].must(tc.method, tc.path, tc.body)
		if got := a.fieldsOf("urls"); got != sorted(tc.want) {
			t.Errorf("%s %s with %s shows\n%s; want\n%s", tc.method, tc.path, tc.scopes, got, sorted(tc.want))
		}
		if tc.scopes == "links:write" && strings.Contains(a.body, "rivate") {
			t.Errorf("%s %s shows %s", tc.method, tc.path, a.body)
		}
	}
	again := keys["links:create"].must("POST", "/v3/urls", made, repeat)
	if again.URLs[0].Hash != first || strings.Contains(again.body, "private") || again.URLs[0].Note != "own" ||
		again.URLs[0].MaxClicks != 0 || again.URLs[0].Tags[0] != "OWN" {
		t.Errorf("the repeat of a creation shows %s", again.body)
	}
	equal(t, "deleted", keys["history:read"].must("GET", "/v3/urls/one/history", "").status, 200)
	if body := keys["history:read"].must("GET", "/v3/urls/one/history", "").body; strings.Contains(body, "daily_clicks") {
		t.Errorf("the history shows clicks: %s", body)
	}
	owner.must("DELETE", "/v3/urls/gone", "")
	if body := keys["history:read"].must("GET", "/v3/deleted", "").body; strings.Contains(body, "total_clicks") {
		t.Errorf("the deleted URLs show clicks: %s", body)
	}
	if a := owner.must("GET", "/v3/deleted", ""); !strings.Contains(a.body, `"total_clicks":0`) {
		t.Errorf("the owner sees no clicks of deleted URLs: %s", a.body)
	}
}

// TestSelectionsByClicksNeedTheirScope checks that who may not read clicks selects and sorts no URLs
// by them.
func TestSelectionsByClicksNeedTheirScope(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	owner := s.client(t, "owner")
	owner.create(`"long_url":"https://example.com/","custom_hash":"one","tags":["t"]`)
	s.visit(t, "GET", "/one")
	without := owner.withKey(`"scopes":["links:read","links:write","links:create","stats:reset","tags:write","history:read"]`)
	with := owner.withKey(`"scopes":["links:read","links:write","stats:read","stats:reset"]`)
	for _, call := range [][3]string{
		{"GET", "/v3/urls?order_by=clicks", ""},
		{"GET", "/v3/urls?order_by=-clicks", ""},
		{"GET", "/v3/urls?tags=visited", ""},
		{"GET", "/v3/urls?tags=t%26(~archived|VISITED)", ""},
		{"GET", "/v3/urls?hashes=one&tags=~visited", ""},
		{"PATCH", "/v3/urls?tags=visited", `{"urls":[{"archived":true}]}`},
		{"DELETE", "/v3/stats?tags=visited", ""},
		{"DELETE", "/v3/urls?tags=visited", ""},
	} {
		if a := without.call(call[0], call[1], call[2]); !a.lacks("stats:read") {
			t.Errorf("%v: %d %s", call, a.status, a.body)
		}
	}
	if link := owner.read("one"); link.Archived || link.TotalClicks != 1 {
		t.Errorf("the URL is %+v", link)
	}
	equal(t, "visited", with.must("GET", "/v3/urls?tags=visited&order_by=clicks", "").hashes(), "one")
}

// TestRefusedUndosShowNoDestination checks what an undo says of URLs that it leaves as they are.
func TestRefusedUndosShowNoDestination(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	owner := s.client(t, "owner")
	owner.create(`"long_url":"https://example.com/private","custom_hash":"one","note":"private"`)
	batch := owner.must("PATCH", "/v3/urls/one", `{"urls":[{"note":"a"}]}`).header.Get(response.HeaderBatchID)
	owner.must("PATCH", "/v3/urls/one", `{"urls":[{"note":"b"}]}`)
	undo := "/v3/batches/" + batch + "/undo"
	a := owner.withKey(`"scopes":["links:write"]`).call("POST", undo, "")
	a.is(200, apierror.CodeOK)
	if len(a.URLs) != 1 || a.URLs[0].LongURL != nil || a.URLs[0].Hash != "one" || strings.Contains(a.body, "private") {
		t.Errorf("an undo shows %s", a.body)
	}
	if a = owner.call("POST", undo, ""); a.URLs[0].LongURL == nil {
		t.Errorf("an undo of the owner shows %s", a.body)
	}
}

// TestTagsAreShownAsSentWithoutTheirScope checks that who writes tags and may not read them does not
// learn how they are spelled.
func TestTagsAreShownAsSentWithoutTheirScope(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	owner := s.client(t, "owner")
	owner.must("POST", "/v3/tags", `{"label":"Private"}`)
	owner.must("POST", "/v3/tags", `{"label":"own"}`)
	writer := owner.withKey(`"scopes":["tags:write"]`)
	equal(t, "label", writer.must("POST", "/v3/tags", `{"label":" PRIVATE "}`).Tags[0].Label, "PRIVATE")
	equal(t, "label of the owner", owner.must("POST", "/v3/tags", `{"label":"PRIVATE"}`).Tags[0].Label, "Private")
	a := writer.call("PATCH", "/v3/tags/own", `{"label":"PRIVATE"}`)
	a.is(400, apierror.CodeInvalidLabel)
	a.has(`"PRIVATE"`)
}

// TestConsoleWithoutClicks opens the pages of links with a session whose key may not read clicks.
func TestConsoleWithoutClicks(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	owner := s.client(t, "acme")
	owner.create(`"long_url":"https://example.com/","custom_hash":"one"`)
	owner.create(`"long_url":"https://example.com/","custom_hash":"gone"`)
	owner.must("DELETE", "/v3/urls/gone", "")
	s.visit(t, "GET", "/one")
	all, reader := s.browser(t), s.browser(t)
	all.signInBy(owner)
	reader.signInBy(owner.withKey(`"scopes":["links:read","history:read"]`))
	for path, clicks := range map[string]string{
		"/console/links": `<td class="n">`, "/console/links/one": "<dt>Clicks</dt><dd>", "/console/deleted": `<td class="n">`,
	} {
		if !strings.Contains(all.shows(path), clicks+"<data") || !strings.Contains(reader.shows(path), clicks+"–") {
			t.Errorf("%s shows the clicks to who may not read them, or not to who may", path)
		}
	}
	if !strings.Contains(all.shows("/console/links"), "most clicks") || strings.Contains(reader.shows("/console/links"), "most clicks") {
		t.Error("the order by clicks is offered to who may not read them, or not to who may")
	}
}
