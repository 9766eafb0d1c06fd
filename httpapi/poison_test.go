package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
	"linkledger/projections"
	"linkledger/projections/engine"
)

// appendTo appends an event to the end of a stream, past all checks of commands, and waits until the projection of
// accounts has passed it.
func appendTo(t *testing.T, s *httpapitest.Stack, stream string, e events.Event) {
	t.Helper()
	last, err := s.Store.Last(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	appended, err := s.Store.Append(t.Context(), eventstore.Write{
		Stream: stream, Expected: last.Revision, Command: uuid.New(), Events: []events.Event{e},
	})
	if err == nil {
		err = s.Waiter.Wait(httpapitest.WithTimeout(t), projections.Accounts, appended.Position.Commit)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestPoisonStopsOneAccount gives an account an event that its projection cannot apply. It checks that what ends a
// right takes effect, that a change without effect is not answered as done, and that other accounts notice nothing.
func TestPoisonStopsOneAccount(t *testing.T) {
	t.Parallel()
	for _, policy := range []engine.Policy{engine.Stop, engine.Park} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			s := httpapitest.NewProjecting(t, engine.Config{Policy: policy}, eventstoretest.Serve(t))
			owner, other := s.Client(t, "owner"), s.Client(t, "other")
			added := owner.Must("POST", "/v3/keys", `{"name":"old"}`).Keys[0]
			kept := owner.Must("POST", "/v3/keys", `{"name":"kept"}`).Keys[0]
			victim := *owner
			victim.Key = added.Key
			link := victim.Create(`"long_url":"https://example.com/"`)
			appendTo(t, s, events.StreamAccount+owner.ID, events.MemberSet{User: "no id", Role: "owner"})

			narrow := func() {
				owner.Call("PATCH", "/v3/keys/"+kept.ID, `{"scopes":["links:read"]}`).Is(http.StatusServiceUnavailable, apierror.CodeUnknown)
			}
			narrow()
			owner.Must("DELETE", "/v3/keys/"+added.ID, "")
			owner.Must("DELETE", "/v3/keys/"+added.ID, "") // a repeat
			narrow()                                       // a repeat, after an event that had its effect
			victim.Call("GET", "/v3/account", "").Is(http.StatusBadRequest, apierror.CodeInvalidKey)
			if done, err := projections.DiscardDeadLetters(t.Context(), s.DB, projections.Accounts, ""); done.Discarded != 1 || done.Applied != 2 || err != nil {
				t.Errorf("%+v, %v", done, err)
			}
			victim.Call("GET", "/v3/account", "").Is(http.StatusBadRequest, apierror.CodeInvalidKey)

			fresh := other.WithKey(`"name":"fresh"`)
			fresh.Create(`"long_url":"https://example.com/"`)
			owner.Create(`"long_url":"https://example.com/"`)
			if a := s.Visit(t, "GET", "/"+link.Hash); a.Status != http.StatusFound {
				t.Errorf("a link of the account answers %d", a.Status)
			}
			s.Client(t, "newcomer").Create(`"long_url":"https://example.com/"`)
		})
	}
}

// TestRevokedDespiteUnreadableEvents revokes a key of an account whose stream has an event of another program. It also
// gives such an event up, and checks that the change after it takes effect.
func TestRevokedDespiteUnreadableEvents(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	owner := s.Client(t, "owner")
	added := owner.Must("POST", "/v3/keys", `{"name":"old"}`).Keys[0]
	kept := owner.Must("POST", "/v3/keys", `{"name":"kept"}`).Keys[0]
	stream := events.StreamAccount + owner.ID
	appendTo(t, s, stream, events.KeyChanged{KeyID: "none", At: time.Now()})
	narrow := func() {
		owner.Call("PATCH", "/v3/keys/"+kept.ID, `{"scopes":["links:read"]}`).Is(http.StatusServiceUnavailable, apierror.CodeUnknown)
	}
	narrow()
	if _, err := projections.DiscardDeadLetters(t.Context(), s.DB, projections.Accounts, ""); err != nil {
		t.Fatal(err)
	}
	owner.Must("PATCH", "/v3/keys/"+kept.ID, `{"scopes":["links:read"]}`) // now it has taken effect

	eventstoretest.Append(t, s.Events.URL(), stream, "account.future.v9", []byte(`{}`))
	victim := *owner
	victim.Key = added.Key
	owner.Must("DELETE", "/v3/keys/"+added.ID, "")
	victim.Call("GET", "/v3/account", "").Is(http.StatusBadRequest, apierror.CodeInvalidKey)
}

// TestNarrowedKeysStayNarrowAfterRebuild narrows a key after an event of its account was given up, and checks that a
// rebuild does not give the key its former rights back.
func TestNarrowedKeysStayNarrowAfterRebuild(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	owner := s.Client(t, "owner")
	added := owner.Must("POST", "/v3/keys", `{"name":"victim"}`).Keys[0]
	victim := *owner
	victim.Key = added.Key
	appendTo(t, s, events.StreamAccount+owner.ID, events.MemberSet{User: "no id", Role: "owner"})
	if _, err := projections.DiscardDeadLetters(t.Context(), s.DB, projections.Accounts, ""); err != nil {
		t.Fatal(err)
	}
	owner.Must("PATCH", "/v3/keys/"+added.ID, `{"scopes":["links:read"]}`)
	refused := func() {
		t.Helper()
		victim.Call("POST", "/v3/urls", `{"long_url":"https://example.com/"}`).Is(http.StatusForbidden, apierror.CodeAccessDenied)
	}
	refused()
	rebuilt(t, s)
	refused()
	fresh := owner.WithKey(`"name":"fresh"`)
	fresh.Create(`"long_url":"https://example.com/"`)
}

// TestTextsOfKeys checks that no text with a control character reaches the projection of accounts, and that such a
// text which is in the log already is shown without what cannot be stored.
func TestTextsOfKeys(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	owner := s.Client(t, "owner")
	id := owner.Must("POST", "/v3/keys", `{"name":"sound"}`).Keys[0].ID
	for _, odd := range []string{`a\u0000b`, `a\u001b[2Jb`, `a\u007fb`, `a\u009bb`, `a\nb`} {
		for _, fields := range []string{`{"name":"` + odd + `"}`, `{"tags":"\"` + odd + `\""}`} {
			owner.Call("POST", "/v3/keys", fields).Is(http.StatusBadRequest, apierror.CodeWrongInput)
			owner.Call("PATCH", "/v3/keys/"+id, fields).Is(http.StatusBadRequest, apierror.CodeWrongInput)
		}
	}
	// An event of v0.1.0, which has accepted NUL.
	eventstoretest.Append(t, s.Events.URL(), events.StreamAccount+owner.ID, events.KeyAdded{}.EventType(), []byte(
		`{"key_id":"older","key_hash":"`+strings.Repeat("0", 64)+`","name":"a\u0000b","tags":"\"a\u0000b\"",`+
			`"at":"2026-01-01T00:00:00Z"}`))
	owner.Must("POST", "/v3/keys", `{"name":"after"}`)
	if older := owner.KeyNamed("a\ufffdb"); older.ID != "older" || *older.Tags != "\"a\ufffdb\"" {
		t.Errorf("%+v", older)
	}
	owner.Must("DELETE", "/v3/keys/older", "")

	// A key of another program, with an id that no key of this one has.
	added := events.KeyAdded{KeyID: "odd", KeyHash: strings.Repeat("1", 64), At: time.Now()}
	body, err := events.Encode(added)
	if err != nil {
		t.Fatal(err)
	}
	odd := strings.Replace(string(body), `"odd"`, `"o\u001bd"`, 1)
	eventstoretest.Append(t, s.Events.URL(), events.StreamAccount+owner.ID, added.EventType(), []byte(odd))
	owner.Must("POST", "/v3/keys", `{"name":"later"}`)
	owner.Must("DELETE", "/v3/keys/o%1Bd", "")
}

// TestLinksBehindSenselessClaims appends claims of a hash that lead to no link. The owner of the link that has the hash
// changes and deletes it all the same.
func TestLinksBehindSenselessClaims(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	owner, other := s.Client(t, "owner"), s.Client(t, "other")
	for name, claim := range map[string]events.HashClaimed{
		"empty": {}, "other": {URLID: "no id", Account: other.ID}, "own": {URLID: "no id", Account: owner.ID},
	} {
		for _, fields := range []string{`"custom_hash":"h-` + name + `"`, `"note":"with a generated hash"`} {
			link := owner.Create(`"long_url":"https://example.com/",` + fields)
			body, err := events.Encode(claim)
			if err != nil {
				t.Fatal(err)
			}
			eventstoretest.Append(t, s.Events.URL(), events.StreamHash+link.Hash, claim.EventType(), body)
			owner.Must("PATCH", "/v3/urls/"+link.Hash, `{"urls":[{"note":"changed"}]}`)
			owner.Must("DELETE", "/v3/urls?hashes="+link.Hash, "")
			if a := s.Visit(t, "GET", "/"+link.Hash); a.Status != http.StatusGone {
				t.Errorf("%s: after its deletion the link answers %d", name, a.Status)
			}
			owner.Call("DELETE", "/v3/urls/"+link.Hash, "").Is(http.StatusNotFound, apierror.CodeURLNotFound)
			other.Call("DELETE", "/v3/urls/"+link.Hash, "").Is(http.StatusNotFound, apierror.CodeURLNotFound)
		}
	}
}
