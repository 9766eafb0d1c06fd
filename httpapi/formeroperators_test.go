package httpapi

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/accounts"
	"linkledger/commands/domain"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/openid/openidtest"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/queries/accountlist"
)

// operates reports whether a browser has the session of an operator, at a console of operators and at both nodes.
func (s *site) operates(t *testing.T, b *browser, h http.Handler) bool {
	t.Helper()
	status := b.on(h).call("GET", "/console", "").status
	for _, node := range []http.Handler{s.handler, s.node} {
		if operator := b.on(node).must("GET", "/v3/session", "").Session.Operator; operator != (status == http.StatusOK) {
			t.Errorf("the session of an operator: %v; their console answers %d", operator, status)
		}
	}
	return status == http.StatusOK
}

// TestOperatorsWhoLeaveTheGroup checks that a sign-in gives and takes the role of an operator in all sessions of the
// person, and in no session of others.
func TestOperatorsWhoLeaveTheGroup(t *testing.T) {
	t.Parallel()
	s := newSite(t, "ops=operator;staff=acme:viewer")
	s.client(t, "acme")
	h := s.operators(t, engine.Config{}, testTimeout)
	person := openidtest.Person{Subject: "ada", Name: "Ada", Groups: []string{"ops", "staff"}}
	other, _ := s.signIn(t, openidtest.Person{Subject: "eve", Name: "Eve", Groups: []string{"ops"}})
	first, _ := s.signIn(t, person)
	second, _ := s.signIn(t, person)
	for name, b := range map[string]*browser{"first": first, "second": second, "other": other} {
		if !s.operates(t, b, h) {
			t.Errorf("the %s is no operator", name)
		}
	}
	person.Groups = []string{"staff"}
	third, _ := s.signIn(t, person)
	for name, b := range map[string]*browser{"first": first, "second": second, "third": third} {
		if s.operates(t, b, h) {
			t.Errorf("the %s is an operator after a sign-in that says otherwise", name)
		}
		equal(t, "role of the "+name, *b.must("GET", "/v3/session", "").Session.Role, "viewer")
	}
	if !s.operates(t, other, h) {
		t.Error("somebody else is no operator any more")
	}
	person.Groups = []string{"ops"}
	fourth, _ := s.signIn(t, person)
	if !s.operates(t, fourth, h) {
		t.Error("somebody who is an operator again is none")
	}
	for _, b := range []*browser{first, second, third} {
		b.ended() // the role in the account, in which they were, has ended with the group
	}
}

// TestOperatorsWhoLeaveWhileALateSignInFails checks that a sign-in that cannot end takes the role nevertheless.
func TestOperatorsWhoLeaveWhileALateSignInFails(t *testing.T) {
	t.Parallel()
	s := newSite(t, "ops=operator", func(cfg *Config) { cfg.WaitTimeout = 50 * time.Millisecond })
	h := s.operators(t, engine.Config{}, testTimeout)
	person := openidtest.Person{Subject: "ada", Name: "Ada", Groups: []string{"ops"}}
	var first *browser
	for ctx := withTimeout(t); first == nil; {
		b := s.browser(t)
		if s.finish(t, b, person).status == http.StatusSeeOther { // not if the machine was too slow
			first = b
		}
		if ctx.Err() != nil {
			t.Fatal("nobody can sign in")
		}
	}
	if !s.operates(t, first, h) {
		t.Fatal("the first session is no operator's")
	}
	if err := projections.Pause(withTimeout(t), s.db, projections.Accounts); err != nil {
		t.Fatal(err)
	}
	person.Groups, person.Name = nil, "Ada Lovelace" // an event that the read models do not show
	if a := s.finish(t, s.browser(t), person); a.status != http.StatusServiceUnavailable {
		t.Fatalf("the late sign-in answers %d %s", a.status, a.body)
	}
	if s.operates(t, first, h) {
		t.Error("the first session is still that of an operator")
	}
}

// keySession returns a browser with the session of an operator that a one-time link made of a key.
func (s *stack) keySession(t *testing.T, h http.Handler, owner *client, key string) *browser {
	t.Helper()
	b := &browser{t, h, make(map[string]*http.Cookie)}
	of := accountlist.NewSession{Account: uuid.MustParse(owner.id), Key: key, Operator: true}
	b.leads(s.operatorLink(t, of), nil, "/console")
	return b
}

// TestOperatorsByAKeyObeyTheKey checks that the session of an operator that was made of a key may be used no longer and
// from no other place than the key, at the console of operators, in the API and in the console of owners.
func TestOperatorsByAKeyObeyTheKey(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	h := s.operators(t, engine.Config{}, testTimeout)
	deactivate := func(t *testing.T, owner *client) {
		t.Helper()
		done, err := s.accounts.Deactivate(withTimeout(t), domain.Request{Operator: true, Command: uuid.New()}, owner.username)
		if err == nil {
			err = s.waiter.Wait(withTimeout(t), projections.Accounts, done.Position.Commit)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		terms string
		end   func(t *testing.T, owner *client)
		from  string
		says  string
	}{
		"last day of the key": {`"expiration_date":"2026-05-13"`, nil, "", "key has expired"},
		"network":             {`"networks":["192.0.2.0/24"]`, nil, "203.0.113.9:1", "not be used from this address"},
		"deactivated":         {"", deactivate, "", "account is not active"},
		"last day of the account": {"", func(t *testing.T, owner *client) {
			t.Helper()
			s.editAccount(t, owner.username, accounts.Change{ExpirationDate: new("2026-05-13")})
		}, "", "account has expired"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			owner := s.client(t, "of-"+strings.ReplaceAll(name, " ", "-"))
			terms := `{"name":"k"}`
			if tc.terms != "" {
				terms = `{"name":"k",` + tc.terms + `}`
			}
			added := owner.must("POST", "/v3/keys", terms).Keys[0]
			b := s.keySession(t, h, owner, added.ID)
			if tc.end != nil {
				tc.end(t, owner)
			}
			at := from("192.0.2.7:1", "x")
			if tc.from != "" {
				equal(t, "status in the network", b.call("GET", "/console", "", at).status, http.StatusOK)
				at = from(tc.from, "x")
			}
			for _, path := range []string{"/console", "/console/accounts", "/console/streams?stream=hash-one"} {
				a := b.call("GET", path, "", at)
				if a.status != http.StatusForbidden || !strings.Contains(a.body, tc.says) {
					t.Errorf("%s of operators answers %d; want a refusal with %q\n%s", path, a.status, tc.says, a.body)
				}
			}
			public := b.on(s.handler)
			public.call("GET", "/v3/urls", "", at).is(http.StatusForbidden, apierror.CodeAccessDenied)
			if a := public.call("GET", "/console/links", "", at); a.status != http.StatusForbidden {
				t.Errorf("the console of owners answers %d", a.status)
			}
			if len(s.log.matching("login refused", "account="+owner.username)) == 0 {
				t.Error("the refusals are not logged")
			}
			public.call("DELETE", "/v3/session", "", at).is(http.StatusOK, apierror.CodeOK) // one can sign out
			public.ended()
		})
	}
}

// TestOwnersByAGroupStayWithTheGroup checks that nobody makes the role that a group gives them a lasting one.
func TestOwnersByAGroupStayWithTheGroup(t *testing.T) {
	t.Parallel()
	s := newSite(t, "bosses=acme:owner")
	acme := s.client(t, "acme")
	person := openidtest.Person{Subject: "ada", Name: "Ada", Groups: []string{"bosses"}}
	ada, id := s.signIn(t, person)
	for _, role := range []string{"owner", "editor", "viewer"} {
		a := ada.call("PUT", "/v3/members", `{"id":"`+id+`","role":"`+role+`"}`)
		a.is(http.StatusForbidden, apierror.CodeAccessDenied)
		a.has("by a group")
	}
	groups := func() string {
		var all []string
		for _, m := range acme.must("GET", "/v3/members", "").Members {
			if m.Group == nil {
				all = append(all, m.Role)
			} else {
				all = append(all, m.Role+" "+*m.Group)
			}
		}
		return strings.Join(all, ", ")
	}
	equal(t, "members", groups(), "owner bosses")

	// Others may: they decide that she stays.
	eve, _ := s.signIn(t, openidtest.Person{Subject: "eve", Name: "Eve", Groups: []string{"bosses"}})
	eve.must("PUT", "/v3/members", `{"id":"`+id+`","role":"editor"}`)
	equal(t, "members", groups(), "owner bosses, editor")
	acme.must("PUT", "/v3/members", `{"id":"`+id+`","role":"owner"}`)
	ada, _ = s.signIn(t, person)
	ada.must("PUT", "/v3/members", `{"id":"`+id+`","role":"viewer"}`) // a role that somebody gave is hers
	equal(t, "members", groups(), "owner bosses, viewer")
}
