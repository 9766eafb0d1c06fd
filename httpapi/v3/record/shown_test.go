package record_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/response"
)

// TestBoundKeysSeeLabelsInLowerCase says how a bound key sees the labels of its own URLs: as it sends
// them in the answer to the call, and in lower case ever after.
func TestBoundKeysSeeLabelsInLowerCase(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	owner := s.Client(t, "owner")
	owner.Create(`"long_url":"https://example.com/","tags":["Secret"]`)
	bound := owner.WithKey(`"tags":"+News"`)
	made := bound.Must("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"one","tags":["NEWS"," SECRET "]}]}`)
	httpapitest.Equal(t, "tags as sent", strings.Join(made.URLs[0].Tags, " "), "NEWS SECRET")
	edited := bound.Must("PATCH", "/v3/urls/one", `{"urls":[{"tags":["+seCret","-none"]}]}`)
	httpapitest.Equal(t, "tags of an edit", strings.Join(edited.URLs[0].Tags, " "), "news seCret")
	httpapitest.Equal(t, "tags of a read", strings.Join(bound.Read("one").Tags, " "), "news secret")
	httpapitest.Equal(t, "tags of the owner", strings.Join(owner.Read("one").Tags, " "), "NEWS Secret")
	owner.Call("PATCH", "/v3/urls/one", `{"urls":[{"tags":["-none"]}]}`).URLs[0].Failed(t, 1309, "no tag")
	httpapitest.Equal(t, "status", bound.Call("GET", "/v3/urls?tags=else", "").Status, http.StatusNotFound)
}

const nameFields = "hash links short_url short_url_with_protocol"

const ownerFields = "archived created_at email_stats expiration_date long_url max_clicks modified_at note ping protected tags"

const clicksFields = "last_visit total_clicks unique_clicks visited"

// fieldsOf returns the sorted names of the first record of an answer, without its error.
func fieldsOf(a *httpapitest.Answer, list string) string {
	a.T.Helper()
	var body map[string]json.RawMessage
	var records []map[string]json.RawMessage
	if err := json.Unmarshal([]byte(a.Body), &body); err != nil {
		a.T.Fatal(err)
	}
	if err := json.Unmarshal(body[list], &records); err != nil || len(records) == 0 {
		a.T.Fatalf("%v: no %s in %s", err, list, a.Body)
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
	s := httpapitest.New(t)
	owner := s.Client(t, "owner")
	owner.Create(`"long_url":"https://example.com/private","custom_hash":"one","note":"private","tags":["private"],"max_clicks":7`)
	s.Visit(t, "GET", "/one")
	repeat := httpapitest.Header("Idempotency-Key", "k")
	const made = `{"urls":[{"long_url":"https://example.com/own","tags":[" OWN "],"note":"own"}]}`
	first := owner.Must("POST", "/v3/urls", made, repeat).URLs[0].Hash
	owner.Must("PATCH", "/v3/urls/"+first, `{"urls":[{"long_url":"https://example.com/private","note":"private","max_clicks":9,"tags":["private"]}]}`)
	owner.Create(`"long_url":"https://example.com/private","custom_hash":"gone"`)
	owner.Must("DELETE", "/v3/urls/gone", "")
	keys := map[string]*httpapitest.Client{}
	for _, scopes := range []string{"links:read", "links:create", "links:write", "links:write stats:read", "links:read links:write", "history:read"} {
		keys[scopes] = owner.WithKey(`"scopes":["` + strings.Join(strings.Fields(scopes), `","`) + `"]`)
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
		{"links:read", "GET", "/v3/urls?at=" + strings.ReplaceAll(s.SyncClock(), "+", "%2B"), "", sorted(nameFields, ownerFields)},
		{"links:write", "PATCH", "/v3/urls/one", nothing, nameFields},
		{"links:write", "PATCH", "/v3/urls/one", note, sorted(nameFields, "note expiration_date")},
		{"links:write", "PATCH", "/v3/urls", `{"urls":[{"hash":"one","protected":false}]}`, sorted(nameFields, "protected")},
		{"links:write", "PATCH", "/v3/urls?hashes=one", `{"urls":[{"long_url":"https://example.com/x"}]}`, sorted(nameFields, "long_url")},
		{"links:write", "POST", "/v3/urls/one/restore", `{"version":0}`, nameFields},
		{"links:write stats:read", "PATCH", "/v3/urls/one", nothing, sorted(nameFields, clicksFields)},
		{"links:read links:write", "PATCH", "/v3/urls/one", nothing, sorted(nameFields, ownerFields)},
		{"links:create", "POST", "/v3/urls", made, strings.Replace(sorted(nameFields, ownerFields), "modified_at ", "", 1)},
	} {
		a := keys[tc.scopes].Must(tc.method, tc.path, tc.body)
		if got := fieldsOf(a, "urls"); got != sorted(tc.want) {
			t.Errorf("%s %s with %s shows\n%s; want\n%s", tc.method, tc.path, tc.scopes, got, sorted(tc.want))
		}
		if tc.scopes == "links:write" && strings.Contains(a.Body, "rivate") {
			t.Errorf("%s %s shows %s", tc.method, tc.path, a.Body)
		}
	}
	again := keys["links:create"].Must("POST", "/v3/urls", made, repeat)
	if again.URLs[0].Hash != first || strings.Contains(again.Body, "private") || again.URLs[0].Note != "own" ||
		again.URLs[0].MaxClicks != 0 || again.URLs[0].Tags[0] != "OWN" {
		t.Errorf("the repeat of a creation shows %s", again.Body)
	}
	httpapitest.Equal(t, "deleted", keys["history:read"].Must("GET", "/v3/urls/one/history", "").Status, 200)
	if body := keys["history:read"].Must("GET", "/v3/urls/one/history", "").Body; strings.Contains(body, "daily_clicks") {
		t.Errorf("the history shows clicks: %s", body)
	}
	owner.Must("DELETE", "/v3/urls/gone", "")
	if body := keys["history:read"].Must("GET", "/v3/deleted", "").Body; strings.Contains(body, "total_clicks") {
		t.Errorf("the deleted URLs show clicks: %s", body)
	}
	if a := owner.Must("GET", "/v3/deleted", ""); !strings.Contains(a.Body, `"total_clicks":0`) {
		t.Errorf("the owner sees no clicks of deleted URLs: %s", a.Body)
	}
}

// TestRefusedUndosShowNoDestination checks the answer of an undo for URLs that it does not change.
func TestRefusedUndosShowNoDestination(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	owner := s.Client(t, "owner")
	owner.Create(`"long_url":"https://example.com/private","custom_hash":"one","note":"private"`)
	batch := owner.Must("PATCH", "/v3/urls/one", `{"urls":[{"note":"a"}]}`).Header.Get(response.HeaderBatchID)
	owner.Must("PATCH", "/v3/urls/one", `{"urls":[{"note":"b"}]}`)
	undo := "/v3/batches/" + batch + "/undo"
	a := owner.WithKey(`"scopes":["links:write"]`).Call("POST", undo, "")
	a.Is(200, apierror.CodeOK)
	if len(a.URLs) != 1 || a.URLs[0].LongURL != nil || a.URLs[0].Hash != "one" || strings.Contains(a.Body, "private") {
		t.Errorf("an undo shows %s", a.Body)
	}
	if a = owner.Call("POST", undo, ""); a.URLs[0].LongURL == nil {
		t.Errorf("an undo of the owner shows %s", a.Body)
	}
}
