package httpapi

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/codec"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/httpapi/apierror"
	"linkledger/projections"
	"linkledger/projections/engine"
)

// appendTo appends an event to the end of a stream, past all checks of commands, and waits until the projection of
// accounts has passed it.
func (s *stack) appendTo(t *testing.T, stream string, e events.Event) {
	t.Helper()
	last, err := s.store.Last(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	appended, err := s.store.Append(t.Context(), eventstore.Write{
		Stream: stream, Expected: last.Revision, Command: uuid.New(), Events: []events.Event{e},
	})
	if err == nil {
		err = s.waiter.Wait(withTimeout(t), projections.Accounts, appended.Position.Commit)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestPoisonStopsOneAccount gives an account an event that its projection cannot apply. It checks that what ends a
// right takes effect, that a change without effect is not answered as done, and that other accounts notice nothing.
func TestPoisonStopsOneAccount(t *testing.T) {
	t.Parallel()
	for name, interval := range map[string]time.Duration{"tried": time.Minute, "left": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStackThat(t, engine.Config{RetryInterval: interval}, eventstoretest.Serve(t))
			owner, other := s.client(t, "owner"), s.client(t, "other")
			added := owner.must("POST", "/v3/keys", `{"name":"old"}`).Keys[0]
			kept := owner.must("POST", "/v3/keys", `{"name":"kept"}`).Keys[0]
			victim := *owner
			victim.key = added.Key
			link := victim.create(`"long_url":"https://example.com/"`)
			s.appendTo(t, events.StreamAccount+owner.id, events.MemberSet{User: "no id", Role: "owner"})

			narrow := func() {
				owner.call("PATCH", "/v3/keys/"+kept.ID, `{"scopes":["links:read"]}`).is(http.StatusServiceUnavailable, apierror.CodeUnknown)
			}
			narrow()
			owner.must("DELETE", "/v3/keys/"+added.ID, "")
			owner.must("DELETE", "/v3/keys/"+added.ID, "") // a repeat
			narrow()                                       // a repeat, after an event that had its effect
			victim.call("GET", "/v3/account", "").is(http.StatusBadRequest, apierror.CodeInvalidKey)
			if done, err := projections.DiscardDeadLetters(t.Context(), s.db, projections.Accounts, ""); done.Discarded != 1 || done.Applied != 2 || err != nil {
				t.Errorf("%+v, %v", done, err)
			}
			victim.call("GET", "/v3/account", "").is(http.StatusBadRequest, apierror.CodeInvalidKey)

			fresh := other.withKey(`"name":"fresh"`)
			fresh.create(`"long_url":"https://example.com/"`)
			owner.create(`"long_url":"https://example.com/"`)
			if a := s.visit(t, "GET", "/"+link.Hash); a.status != http.StatusFound {
				t.Errorf("a link of the account answers %d", a.status)
			}
			s.client(t, "newcomer").create(`"long_url":"https://example.com/"`)
		})
	}
}

// TestRevokedDespiteUnreadableEvents revokes a key of an account whose stream has an event of another program. It also
// gives such an event up, and checks that the change after it takes effect.
func TestRevokedDespiteUnreadableEvents(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	owner := s.client(t, "owner")
	added := owner.must("POST", "/v3/keys", `{"name":"old"}`).Keys[0]
	kept := owner.must("POST", "/v3/keys", `{"name":"kept"}`).Keys[0]
	stream := events.StreamAccount + owner.id
	s.appendTo(t, stream, events.KeyChanged{KeyID: "none", At: time.Now()})
	narrow := func() {
		owner.call("PATCH", "/v3/keys/"+kept.ID, `{"scopes":["links:read"]}`).is(http.StatusServiceUnavailable, apierror.CodeUnknown)
	}
	narrow()
	if _, err := projections.DiscardDeadLetters(t.Context(), s.db, projections.Accounts, ""); err != nil {
		t.Fatal(err)
	}
	owner.must("PATCH", "/v3/keys/"+kept.ID, `{"scopes":["links:read"]}`) // now it has taken effect

	eventstoretest.Append(t, s.events.URL(), stream, "account.future.v9", []byte(`{}`))
	victim := *owner
	victim.key = added.Key
	owner.must("DELETE", "/v3/keys/"+added.ID, "")
	victim.call("GET", "/v3/account", "").is(http.StatusBadRequest, apierror.CodeInvalidKey)
}

// TestNarrowedKeysStayNarrowAfterRebuild narrows a key after an event of its account was given up, and checks that a
// rebuild does not give the key its former rights back.
func TestNarrowedKeysStayNarrowAfterRebuild(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	owner := s.client(t, "owner")
	added := owner.must("POST", "/v3/keys", `{"name":"victim"}`).Keys[0]
	victim := *owner
	victim.key = added.Key
	s.appendTo(t, events.StreamAccount+owner.id, events.MemberSet{User: "no id", Role: "owner"})
	if _, err := projections.DiscardDeadLetters(t.Context(), s.db, projections.Accounts, ""); err != nil {
		t.Fatal(err)
	}
	owner.must("PATCH", "/v3/keys/"+added.ID, `{"scopes":["links:read"]}`)
	refused := func() {
		t.Helper()
		victim.call("POST", "/v3/urls", `{"long_url":"https://example.com/"}`).is(http.StatusForbidden, apierror.CodeAccessDenied)
	}
	refused()
	s.rebuilt(t)
	refused()
	fresh := owner.withKey(`"name":"fresh"`)
	fresh.create(`"long_url":"https://example.com/"`)
}

// TestTextsOfKeys checks that no text with a control character reaches the projection of accounts, and that such a
// text which is in the log already is shown without what cannot be stored.
func TestTextsOfKeys(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	owner := s.client(t, "owner")
	id := owner.must("POST", "/v3/keys", `{"name":"sound"}`).Keys[0].ID
	for _, odd := range []string{`a\u0000b`, `a\u001b[2Jb`, `a\u007fb`, `a\u009bb`, `a\nb`} {
		for _, fields := range []string{`{"name":"` + odd + `"}`, `{"tags":"\"` + odd + `\""}`} {
			owner.call("POST", "/v3/keys", fields).is(http.StatusBadRequest, apierror.CodeWrongInput)
			owner.call("PATCH", "/v3/keys/"+id, fields).is(http.StatusBadRequest, apierror.CodeWrongInput)
		}
	}
	// An event of v0.1.0, which has accepted NUL.
	eventstoretest.Append(t, s.events.URL(), events.StreamAccount+owner.id, events.KeyAdded{}.EventType(), []byte(
		`{"key_id":"older","key_hash":"`+strings.Repeat("0", 64)+`","name":"a\u0000b","tags":"\"a\u0000b\"",`+
			`"at":"2026-01-01T00:00:00Z"}`))
	owner.must("POST", "/v3/keys", `{"name":"after"}`)
	if older := owner.keyNamed("a\ufffdb"); older.ID != "older" || *older.Tags != "\"a\ufffdb\"" {
		t.Errorf("%+v", older)
	}
	owner.must("DELETE", "/v3/keys/older", "")

	// A key of another program, with an id that no key of this one has.
	added := events.KeyAdded{KeyID: "odd", KeyHash: strings.Repeat("1", 64), At: time.Now()}
	body, err := codec.Encode(added)
	if err != nil {
		t.Fatal(err)
	}
	odd := strings.Replace(string(body), `"odd"`, `"o\u001bd"`, 1)
	eventstoretest.Append(t, s.events.URL(), events.StreamAccount+owner.id, added.EventType(), []byte(odd))
	owner.must("POST", "/v3/keys", `{"name":"later"}`)
	owner.must("DELETE", "/v3/keys/o%1Bd", "")
}

// TestLinksBehindSenselessClaims appends claims of a hash that lead to no link. The owner of the link that has the hash
// changes and deletes it all the same.
func TestLinksBehindSenselessClaims(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	owner, other := s.client(t, "owner"), s.client(t, "other")
	for name, claim := range map[string]events.HashClaimed{
		"empty": {}, "other": {URLID: "no id", Account: other.id}, "own": {URLID: "no id", Account: owner.id},
	} {
		for _, fields := range []string{`"custom_hash":"h-` + name + `"`, `"note":"with a generated hash"`} {
			link := owner.create(`"long_url":"https://example.com/",` + fields)
			body, err := codec.Encode(claim)
			if err != nil {
				t.Fatal(err)
			}
			eventstoretest.Append(t, s.events.URL(), events.StreamHash+link.Hash, claim.EventType(), body)
			owner.must("PATCH", "/v3/urls/"+link.Hash, `{"urls":[{"note":"changed"}]}`)
			owner.must("DELETE", "/v3/urls?hashes="+link.Hash, "")
			if a := s.visit(t, "GET", "/"+link.Hash); a.status != http.StatusGone {
				t.Errorf("%s: after its deletion the link answers %d", name, a.status)
			}
			owner.call("DELETE", "/v3/urls/"+link.Hash, "").is(http.StatusNotFound, apierror.CodeURLNotFound)
			other.call("DELETE", "/v3/urls/"+link.Hash, "").is(http.StatusNotFound, apierror.CodeURLNotFound)
		}
	}
}
