package operators_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"linkledger/internal/operators/operatorstest"

	"github.com/google/uuid"

	"linkledger/commands/accounts"
	"linkledger/commands/domain"
	"linkledger/httpapi"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/openid/openidtest"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/queries/accountlist"
)

// operates reports whether a browser has the session of an operator, at a console of operators and at both nodes.
func operates(t *testing.T, s *browsertest.Site, b *browsertest.Browser, h http.Handler) bool {
	t.Helper()
	status := b.On(h).Call("GET", "/console", "").Status
	for _, node := range []http.Handler{s.Server, s.Node} {
		if operator := b.On(node).Must("GET", "/v3/session", "").Session.Operator; operator != (status == http.StatusOK) {
			t.Errorf("the session of an operator: %v; their console answers %d", operator, status)
		}
	}
	return status == http.StatusOK
}

// TestOperatorsWhoLeaveTheGroup checks that a sign-in gives and takes the role of an operator in all sessions of the
// person, and in no session of others.
func TestOperatorsWhoLeaveTheGroup(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "ops=operator;staff=acme:viewer")
	s.Client(t, "acme")
	h := operatorstest.For(t, s.Stack, engine.Config{}, httpapitest.Timeout)
	person := openidtest.Person{Subject: "ada", Name: "Ada", Groups: []string{"ops", "staff"}}
	other, _ := s.SignIn(t, openidtest.Person{Subject: "eve", Name: "Eve", Groups: []string{"ops"}})
	first, _ := s.SignIn(t, person)
	second, _ := s.SignIn(t, person)
	for name, b := range map[string]*browsertest.Browser{"first": first, "second": second, "other": other} {
		if !operates(t, s, b, h) {
			t.Errorf("the %s is no operator", name)
		}
	}
	person.Groups = []string{"staff"}
	third, _ := s.SignIn(t, person)
	for name, b := range map[string]*browsertest.Browser{"first": first, "second": second, "third": third} {
		if operates(t, s, b, h) {
			t.Errorf("the %s is an operator after a sign-in that says otherwise", name)
		}
		httpapitest.Equal(t, "role of the "+name, *b.Must("GET", "/v3/session", "").Session.Role, "viewer")
	}
	if !operates(t, s, other, h) {
		t.Error("somebody else is no operator any more")
	}
	person.Groups = []string{"ops"}
	fourth, _ := s.SignIn(t, person)
	if !operates(t, s, fourth, h) {
		t.Error("somebody who is an operator again is none")
	}
	for _, b := range []*browsertest.Browser{first, second, third} {
		b.Ended() // the role in the account, in which they were, has ended with the group
	}
}

// TestOperatorsWhoLeaveWhileALateSignInFails checks that a sign-in that cannot end takes the role nevertheless.
func TestOperatorsWhoLeaveWhileALateSignInFails(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "ops=operator", func(cfg *httpapi.Config) { cfg.WaitTimeout = 50 * time.Millisecond })
	h := operatorstest.For(t, s.Stack, engine.Config{}, httpapitest.Timeout)
	person := openidtest.Person{Subject: "ada", Name: "Ada", Groups: []string{"ops"}}
	var first *browsertest.Browser
	for ctx := httpapitest.WithTimeout(t); first == nil; {
		b := s.Browser(t)
		if s.Finish(t, b, person).Status == http.StatusSeeOther { // not if the machine was too slow
			first = b
		}
		if ctx.Err() != nil {
			t.Fatal("nobody can sign in")
		}
	}
	if !operates(t, s, first, h) {
		t.Fatal("the first session is no operator's")
	}
	if err := projections.Pause(httpapitest.WithTimeout(t), s.DB, projections.Accounts); err != nil {
		t.Fatal(err)
	}
	person.Groups, person.Name = nil, "Ada Lovelace" // an event that the read models do not show
	if a := s.Finish(t, s.Browser(t), person); a.Status != http.StatusServiceUnavailable {
		t.Fatalf("the late sign-in answers %d %s", a.Status, a.Body)
	}
	if operates(t, s, first, h) {
		t.Error("the first session is still that of an operator")
	}
}

// keySession returns a browser with the session of an operator that a one-time link made of a key.
func keySession(t *testing.T, s *httpapitest.Stack, h http.Handler, owner *httpapitest.Client, key string) *browsertest.Browser {
	t.Helper()
	b := browsertest.NewBrowser(t, h)
	of := accountlist.NewSession{Account: uuid.MustParse(owner.ID), Key: key, Operator: true}
	b.Leads(operatorstest.Link(t, s, of), nil, "/console")
	return b
}

// TestOperatorsByAKeyObeyTheKey checks that the session of an operator that was made of a key may be used no longer and
// from no other place than the key, at the console of operators, in the API and in the console of owners.
func TestOperatorsByAKeyObeyTheKey(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	h := operatorstest.For(t, s.Stack, engine.Config{}, httpapitest.Timeout)
	deactivate := func(t *testing.T, owner *httpapitest.Client) {
		t.Helper()
		done, err := s.Accounts.Deactivate(httpapitest.WithTimeout(t), domain.Request{Operator: true, Command: uuid.New()}, owner.Username)
		if err == nil {
			err = s.Waiter.Wait(httpapitest.WithTimeout(t), projections.Accounts, done.Position.Commit)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		terms string
		end   func(t *testing.T, owner *httpapitest.Client)
		from  string
		says  string
	}{
		"last day of the key": {`"expiration_date":"2026-05-13"`, nil, "", "key has expired"},
		"network":             {`"networks":["192.0.2.0/24"]`, nil, "203.0.113.9:1", "not be used from this address"},
		"deactivated":         {"", deactivate, "", "account is not active"},
		"last day of the account": {"", func(t *testing.T, owner *httpapitest.Client) {
			t.Helper()
			s.EditAccount(t, owner.Username, accounts.Change{ExpirationDate: new("2026-05-13")})
		}, "", "account has expired"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			owner := s.Client(t, "of-"+strings.ReplaceAll(name, " ", "-"))
			terms := `{"name":"k"}`
			if tc.terms != "" {
				terms = `{"name":"k",` + tc.terms + `}`
			}
			added := owner.Must("POST", "/v3/keys", terms).Keys[0]
			b := keySession(t, s.Stack, h, owner, added.ID)
			if tc.end != nil {
				tc.end(t, owner)
			}
			at := httpapitest.From("192.0.2.7:1", "x")
			if tc.from != "" {
				httpapitest.Equal(t, "status in the network", b.Call("GET", "/console", "", at).Status, http.StatusOK)
				at = httpapitest.From(tc.from, "x")
			}
			for _, path := range []string{"/console", "/console/accounts", "/console/streams?stream=hash-one"} {
				a := b.Call("GET", path, "", at)
				if a.Status != http.StatusForbidden || !strings.Contains(a.Body, tc.says) {
					t.Errorf("%s of operators answers %d; want a refusal with %q\n%s", path, a.Status, tc.says, a.Body)
				}
			}
			public := b.On(s.Server)
			public.Call("GET", "/v3/urls", "", at).Is(http.StatusForbidden, apierror.CodeAccessDenied)
			if a := public.Call("GET", "/console/links", "", at); a.Status != http.StatusForbidden {
				t.Errorf("the console of owners answers %d", a.Status)
			}
			if len(s.Log.Matching("login refused", "account="+owner.Username)) == 0 {
				t.Error("the refusals are not logged")
			}
			public.Call("DELETE", "/v3/session", "", at).Is(http.StatusOK, apierror.CodeOK) // one can sign out
			public.Ended()
		})
	}
}

// TestOwnersByAGroupStayWithTheGroup checks that a person cannot make the role of a group a lasting one.
func TestOwnersByAGroupStayWithTheGroup(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "bosses=acme:owner")
	acme := s.Client(t, "acme")
	person := openidtest.Person{Subject: "ada", Name: "Ada", Groups: []string{"bosses"}}
	ada, id := s.SignIn(t, person)
	for _, role := range []string{"owner", "editor", "viewer"} {
		a := ada.Call("PUT", "/v3/members", `{"id":"`+id+`","role":"`+role+`"}`)
		a.Is(http.StatusForbidden, apierror.CodeAccessDenied)
		a.Has("by a group")
	}
	groups := func() string {
		var all []string
		for _, m := range acme.Must("GET", "/v3/members", "").Members {
			if m.Group == nil {
				all = append(all, m.Role)
			} else {
				all = append(all, m.Role+" "+*m.Group)
			}
		}
		return strings.Join(all, ", ")
	}
	httpapitest.Equal(t, "members", groups(), "owner bosses")

	// Others may: they decide that she stays.
	eve, _ := s.SignIn(t, openidtest.Person{Subject: "eve", Name: "Eve", Groups: []string{"bosses"}})
	eve.Must("PUT", "/v3/members", `{"id":"`+id+`","role":"editor"}`)
	httpapitest.Equal(t, "members", groups(), "owner bosses, editor")
	acme.Must("PUT", "/v3/members", `{"id":"`+id+`","role":"owner"}`)
	ada, _ = s.SignIn(t, person)
	ada.Must("PUT", "/v3/members", `{"id":"`+id+`","role":"viewer"}`) // she has a role that someone gave
	httpapitest.Equal(t, "members", groups(), "owner bosses, viewer")
}
