package httpapi_test

import (
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
)

// snapshot returns everything that an account can read about its links.
func snapshot(c *httpapitest.Client, hashes ...string) string {
	c.T.Helper()
	paths := []string{"/v3/account", "/v3/urls", "/v3/tags", "/v3/urls?tags=visited"}
	for _, hash := range hashes {
		paths = append(paths, "/v3/urls/"+hash, "/v3/stats/"+hash, "/v3/urls/"+hash+"/history")
	}
	var all strings.Builder
	for _, path := range paths {
		all.WriteString(c.Call(http.MethodGet, path, "").Body)
	}
	return ownCalls.ReplaceAllString(all.String(), "")
}

// ownCalls matches the count of calls, which the snapshots themselves change.
var ownCalls = regexp.MustCompile(`"today_api_calls":\{"count":[0-9]+`)

// TestAccountsLearnNothingOfEachOther checks that to an account the hash of another account always looks like one that
// never existed, except that it cannot be claimed. The account's calls must not change the other account's links.
func TestAccountsLearnNothingOfEachOther(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	alice, bob := s.Client(t, "alice"), s.Client(t, "bob")
	hers := []string{"live", "kept", "gone", "left", "back"} // as long as "none"
	alice.CreateAll(hers...)
	bob.Create(`"long_url":"https://example.com/own","custom_hash":"mine","tags":["own"]`)
	edited := alice.Must("PATCH", "/v3/urls?hashes=live,kept", `{"urls":[{"tags":["+secret"],"note":"private"}]}`)
	alice.Must("PATCH", "/v3/urls/kept", `{"urls":[{"protected":true}]}`)
	s.Visit(t, "GET", "/live")
	alice.Must("DELETE", "/v3/urls?hashes=gone,back", "")
	alice.Must("PATCH", "/v3/urls/left", `{"urls":[{"custom_hash":"right"}]}`)
	alice.CreateAll("back")
	hers = append(hers, "right")
	before := snapshot(alice, hers...)

	const edit = `{"urls":[{"note":"x","tags":["+own"]}]}`
	for _, call := range [][3]string{
		{"GET", "/v3/urls/HASH", ""},
		{"PATCH", "/v3/urls/HASH", edit},
		{"DELETE", "/v3/urls/HASH", ""},
		{"PATCH", "/v3/urls/HASH", `{"urls":[{"custom_hash":"other"}]}`},
		{"PATCH", "/v3/urls/HASH", `{"urls":[{"protected":false}]}`},
		{"GET", "/v3/urls/HASH/history", ""},
		{"GET", "/v3/urls/HASH/dimensions", ""},
		{"POST", "/v3/urls/HASH/restore", `{"version":0}`},
		{"GET", "/v3/stats/HASH", ""},
		{"DELETE", "/v3/stats/HASH", ""},
		{"GET", "/v3/urls?hashes=mine,HASH", ""},
		{"GET", "/v3/urls?search=HASH", ""},
		{"PATCH", "/v3/urls?hashes=HASH,mine", edit},
		{"PATCH", "/v3/urls", `{"urls":[{"hash":"HASH","note":"x"},{"hash":"mine","note":"x"}]}`},
		{"DELETE", "/v3/urls?hashes=HASH", ""},
		{"DELETE", "/v3/stats?hashes=HASH", ""},
	} {
		of := func(hash string) *httpapitest.Answer {
			a := bob.Call(call[0], strings.ReplaceAll(call[1], "HASH", hash), strings.ReplaceAll(call[2], "HASH", hash))
			a.Body = strings.ReplaceAll(a.Body, hash, "HASH")
			for _, name := range []string{
				request.HeaderID, "Content-Length", "X-Event-Position", response.HeaderBatchID,
			} {
				a.Header.Del(name)
			}
			return a
		}
		bob.Must("PATCH", "/v3/urls/mine", `{"urls":[{"note":"x","tags":["+own"]}]}`)
		unknown := of("none")
		for _, hash := range hers {
			a := of(hash)
			if a.Body != unknown.Body || a.Status != unknown.Status || !reflect.DeepEqual(a.Header, unknown.Header) {
				t.Errorf(
					"%s %s of %s is answered %d %s; of an unknown hash %d %s", call[0], call[1], hash, a.Status, a.Body,
					unknown.Status, unknown.Body,
				)
			}
		}
	}
	for _, label := range []string{
		"PATCH /v3/tags/LABEL", "DELETE /v3/tags/LABEL", "GET /v3/urls?tags=LABEL", "DELETE /v3/urls?tags=LABEL",
		"PATCH /v3/urls?tags=LABEL", "DELETE /v3/stats?tags=LABEL",
	} {
		method, path, _ := strings.Cut(label, " ")
		of := func(label string) string {
			a := bob.Call(method, strings.Replace(path, "LABEL", label, 1), `{"label":"x","urls":[{"note":"x"}]}`)
			return strings.ReplaceAll(a.Body, label, "LABEL")
		}
		httpapitest.Equal(t, label, of("secret"), of("nobody"))
	}
	undo := func(batch string) string { return bob.Call("POST", "/v3/batches/"+batch+"/undo", "").Body }
	httpapitest.Equal(t, "undo of her batch", undo(edited.Header.Get(response.HeaderBatchID)), undo(uuid.NewString()))
	bob.Must("DELETE", "/v3/stats?tags=visited|~visited", "")
	bob.Must("PATCH", "/v3/urls?tags=visited|~visited", `{"urls":[{"note":"x"}]}`)
	for _, hash := range hers {
		taken := bob.Call("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.org/","custom_hash":"`+hash+`"}]}`)
		taken.URLs[0].Failed(t, apierror.CodeHashUnavailable, "already in use")
		renamed := bob.Call("PATCH", "/v3/urls/mine", `{"urls":[{"custom_hash":"`+hash+`"}]}`)
		renamed.URLs[0].Failed(t, apierror.CodeHashUnavailable, "already in use")
		httpapitest.Equal(t, "details", renamed.URLs[0].Error.Details, taken.URLs[0].Error.Details)
	}
	if own := bob.Must(
		"POST", "/v3/urls?disable_long_url_duplicates=1", `{"urls":[{"long_url":"https://example.com/live"}]}`,
	).URLs[0]; slices.Contains(hers, own.Hash) {
		t.Errorf("the other account's link %s was returned", own.Hash)
	}
	httpapitest.Equal(t, "URLs of the other", snapshot(alice, hers...), before)
	for _, secret := range []string{"secret", "private", alice.ID, "example.com/kept"} {
		if all := snapshot(bob, append(hers, "mine")...); strings.Contains(all, secret) {
			t.Errorf("%s is in %s", secret, all)
		}
	}
}

// TestTakenOverHashDisclosesNoAccount checks that another account can claim a hash whose first
// claim never became a link. Neither account may learn who the other one is.
func TestTakenOverHashDisclosesNoAccount(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	alice, bob := s.Client(t, "alice"), s.Client(t, "bob")
	claimed := events.HashClaimed{
		Hash: "late", URLID: uuid.Must(uuid.NewV7()).String(), Account: alice.ID,
		At: s.Now().Add(-2 * time.Minute),
	}
	_, err := s.Store.Append(httpapitest.WithTimeout(t), eventstore.Write{
		Stream: events.StreamHash + "late", Expected: eventstore.NoStream, Command: uuid.New(),
		Events:   []events.Event{claimed},
		Metadata: events.Metadata{Account: alice.ID, Key: "her-key"},
	})
	if err != nil {
		t.Fatal(err)
	}
	httpapitest.Equal(t, "taken over", bob.Create(`"long_url":"https://example.com/","custom_hash":"late"`).Hash, "late")
	alices := alice.Must("GET", "/v3/urls/late/history", "")
	httpapitest.Equal(t, "events", len(alices.History.Events), 2) // the claim, and its release
	bobs := bob.Must("GET", "/v3/urls/late/history", "")
	httpapitest.Equal(t, "links", strings.Count(bobs.Body, claimed.URLID), 0)
	if strings.Contains(alices.Body, bob.ID) || strings.Contains(bobs.Body, alice.ID) ||
		strings.Contains(bobs.Body, "her-key") {
		t.Errorf("the histories are\n%s\nand\n%s", alices.Body, bobs.Body)
	}
	alice.Call("GET", "/v3/urls/late", "").Is(http.StatusNotFound, apierror.CodeURLNotFound)
}
