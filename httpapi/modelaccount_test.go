package httpapi_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"linkledger/commands/domain"
	"linkledger/commands/people"
	"linkledger/events"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
	"linkledger/internal/soak"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/projections/engine/status"
)

// modelKey is a key that an account has added.
type modelKey struct{ id, name, tags string }

// persons returns the ids of persons with odd names at the issuer.
func persons(t *testing.T, s *httpapitest.Stack, known *people.People, n int) []string {
	t.Helper()
	ids := make([]string, n)
	for i := range ids {
		found, err := known.Known(t.Context(), domain.Request{Operator: true, Command: uuid.New()}, events.Details{
			Issuer: "https://i.example", Subject: fmt.Sprint("p", i), Name: "💩\u202ee\u0301\u2028", Mail: "a\ufffe@i.example",
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Waiter.Wait(httpapitest.WithTimeout(t), projections.Accounts, found.Position.Commit); err != nil {
			t.Fatal(err)
		}
		ids[i] = found.Person.ID
	}
	return ids
}

// modelNames are names of keys. Those with control characters are refused.
var modelNames = rapid.SampledFrom([]string{
	"", "form", "a\x00b", "\x1b[31m", "x\u009b", "\u202e\u2066abc", "💩", "e\u0301\ufeff", "two\nlines",
})

// modelTerms are tag expressions of keys.
var modelTerms = rapid.SampledFrom([]string{"", "+red", `"\U0001d518 書"`, "\"a\x00b\"", "\"\x1b\""})

// key adds, changes or revokes a key of the account, and compares all keys.
func (m *model) key(t *rapid.T) {
	name, tags, want := modelNames.Draw(t, "name"), modelTerms.Draw(t, "tags"), apierror.CodeOK
	if !events.IsText(name) || !events.IsText(tags) {
		want = apierror.CodeWrongInput
	}
	body := jsonOf("name", name, "tags", tags)
	// To change or revoke a key takes half a second, which the service waits for other nodes.
	switch turn := rapid.IntRange(0, 15).Draw(t, "turn"); {
	case turn > 1 || len(m.keys) == 0:
		a := m.c.Call(http.MethodPost, "/v3/keys", body)
		m.answers(t, a, want)
		if want == apierror.CodeOK {
			m.keys = append(m.keys, modelKey{a.Keys[0].ID, name, tags})
		}
	case turn == 1:
		changed := &m.keys[rapid.IntRange(0, len(m.keys)-1).Draw(t, "key")]
		m.answers(t, m.c.Call(http.MethodPatch, "/v3/keys/"+changed.id, body), want)
		if want == apierror.CodeOK {
			changed.name, changed.tags = name, tags
		}
	default:
		i := rapid.IntRange(0, len(m.keys)-1).Draw(t, "key")
		m.answers(t, m.c.Call(http.MethodDelete, "/v3/keys/"+m.keys[i].id, ""), apierror.CodeOK)
		m.keys = slices.Delete(m.keys, i, i+1)
	}
	listed := make(map[string]modelKey)
	for _, k := range m.c.Call(http.MethodGet, "/v3/keys", "").Keys {
		listed[k.ID] = modelKey{k.ID, k.Name, httpapitest.Deref(k.Tags)}
	}
	if len(listed) != len(m.keys)+1 {
		t.Fatalf("the keys are %v; want %v and the first", listed, m.keys)
	}
	for _, k := range m.keys {
		if listed[k.id] != k {
			t.Fatalf("the key is %+q; want %+q", listed[k.id], k)
		}
	}
}

// member gives a person a role or ends the membership, and compares all members.
func (m *model) member(t *rapid.T) {
	person := rapid.SampledFrom(m.people).Draw(t, "person")
	role := rapid.SampledFrom([]string{"", "viewer", "editor", "owner\u2028", "owner\x00"}).Draw(t, "role")
	_, isMember := m.members[person]
	switch role {
	case "":
		want := apierror.CodeOK
		if !isMember {
			want = apierror.CodeInvalidResource
		}
		m.answers(t, m.c.Call(http.MethodDelete, "/v3/members/"+person, ""), want)
		delete(m.members, person)
	case "viewer", "editor":
		m.answers(t, m.c.Call(http.MethodPut, "/v3/members", jsonOf("id", person, "role", role)), apierror.CodeOK)
		m.members[person] = role
	default:
		m.answers(t, m.c.Call(http.MethodPut, "/v3/members", jsonOf("id", person, "role", role)), apierror.CodeWrongInput)
	}
	listed := m.c.Call(http.MethodGet, "/v3/members", "").Members
	if len(listed) != len(m.members) {
		t.Fatalf("the members are %+v; want %v", listed, m.members)
	}
	for _, one := range listed {
		if m.members[one.ID] != one.Role || one.Name != "💩\u202ee\u0301\u2028" {
			t.Fatalf("a member is %+v; want %v", one, m.members)
		}
	}
}

// jsonOf returns a JSON object of names and texts.
func jsonOf(pairs ...string) string {
	var body strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		fmt.Fprintf(&body, ",%s:%s", quoteJSON(pairs[i]), quoteJSON(pairs[i+1]))
	}
	return "{" + strings.TrimPrefix(body.String(), ",") + "}"
}

// rebuilt builds projections anew and checks that they are what the log says: one in make test, and
// all in make soak.
func rebuilt(t *testing.T, s *httpapitest.Stack) {
	t.Helper()
	names := []string{projections.Accounts}
	if soak.N(0, 1) == 1 {
		names = projections.Names()
	}
	err := projections.Rebuild(t.Context(), engine.Config{
		DB: s.DB, Store: s.Store, Logger: slog.New(slog.DiscardHandler),
	}, names, func([]status.Progress) {})
	if err != nil {
		t.Fatalf("rebuild %v: %v", names, err)
	}
	for _, name := range names {
		found, err := projections.Verify(t.Context(), s.DB, s.Store, name, func([]status.Progress) {})
		if err != nil {
			t.Fatalf("verify %s: %v", name, err)
		}
		if found.Different > 0 || found.Generation != 2 {
			t.Errorf("%d rows of generation %d of %s are not as the log says", found.Different, found.Generation, name)
		}
	}
}
