package keys_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"linkledger/events"
	"linkledger/events/codec"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
)

// TestKeysKeepLeavingOutLinks tries to remove the label whose links a key leaves out.
func TestKeysKeepLeavingOutLinks(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	owner := s.Client(t, "owner")
	owner.Call("POST", "/v3/keys", `{"tags":"~secret"}`).Is(http.StatusBadRequest, apierror.CodeWrongInput)
	owner.Create(`"long_url":"https://example.com/","custom_hash":"hidden","tags":["Secret"]`)
	owner.Create(`"long_url":"https://example.com/","custom_hash":"shown","tags":["other"]`)
	added := owner.Must("POST", "/v3/keys", `{"name":"agency","tags":"~secret"}`).Keys[0]
	bound := *owner
	bound.Key = added.Key
	sees := func(want string) {
		t.Helper()
		httpapitest.Equal(t, "seen", bound.Must("GET", "/v3/urls", "").Hashes(), want)
	}
	sees("shown")
	for _, call := range [][3]string{
		{"PATCH", "/v3/tags/secret", `{"label":"hidden"}`}, {"DELETE", "/v3/tags/SECRET", ""},
	} {
		a := owner.Call(call[0], call[1], call[2])
		a.Is(http.StatusForbidden, apierror.CodeAccessDenied)
		a.Has("agency")
		a = owner.WithKey(`"scopes":["tags:write"]`).Call(call[0], call[1], call[2])
		a.Is(http.StatusForbidden, apierror.CodeAccessDenied)
		if strings.Contains(a.Error.Details, "agency") {
			t.Errorf("who may not list keys reads %q", a.Error.Details)
		}
		sees("shown")
	}
	owner.Must("PATCH", "/v3/tags/secret", `{"label":"SECRET"}`) // another spelling is the same label
	owner.Must("PATCH", "/v3/tags/other", `{"label":"another"}`)
	sees("shown")
	owner.Call("PATCH", "/v3/keys/"+added.ID, `{"tags":"~none"}`).Is(http.StatusBadRequest, apierror.CodeWrongInput)
	owner.Must("PATCH", "/v3/keys/"+added.ID, `{"tags":"~another","name":"x"}`)
	sees("hidden")
	owner.Must("DELETE", "/v3/tags/secret", "")
	owner.Call("DELETE", "/v3/tags/another", "").Is(http.StatusForbidden, apierror.CodeAccessDenied)
	owner.Must("DELETE", "/v3/keys/"+added.ID, "")
	owner.Must("DELETE", "/v3/tags/another", "")
}

// TestKeysAndRenamesAtTheSameTime adds a key that leaves out the links of a tag while two nodes rename and delete the
// tag. In any order of these changes, the key never sees the links.
func TestKeysAndRenamesAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	owner := s.Client(t, "owner")
	given := 0
	for round := range 60 {
		label := fmt.Sprintf("secret%d", round)
		hash := owner.Create(`"long_url":"https://example.com/","tags":["` + label + `"]`).Hash
		var added *httpapitest.Answer
		var all sync.WaitGroup
		all.Go(func() { added = owner.Call("POST", "/v3/keys", `{"tags":"~`+label+`"}`) })
		all.Go(func() { owner.On(s.Node).Call("PATCH", "/v3/tags/"+label, `{"label":"renamed`+label+`"}`) })
		all.Wait()
		owner.Must("POST", "/v3/tags", `{"label":"`+label+`"}`) // the label is used again
		if added.Status != http.StatusOK {
			added.Is(http.StatusBadRequest, apierror.CodeWrongInput)
			continue
		}
		given++
		bound := *owner
		bound.Key = added.Keys[0].Key
		bound.Call("GET", "/v3/urls/"+hash, "").Is(http.StatusNotFound, apierror.CodeURLNotFound)
	}
	t.Logf("%d keys of 60 were given", given)
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
	body, err := codec.Encode(added)
	if err != nil {
		t.Fatal(err)
	}
	odd := strings.Replace(string(body), `"odd"`, `"o\u001bd"`, 1)
	eventstoretest.Append(t, s.Events.URL(), events.StreamAccount+owner.ID, added.EventType(), []byte(odd))
	owner.Must("POST", "/v3/keys", `{"name":"later"}`)
	owner.Must("DELETE", "/v3/keys/o%1Bd", "")
}
