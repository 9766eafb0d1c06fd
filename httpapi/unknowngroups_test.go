package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"linkledger/httpapi/openid/openidtest"
)

// overage is what Entra states of somebody with more groups than fit into a token.
var overage = map[string]any{
	"groups": nil, "_claim_names": map[string]any{"groups": "src1"},
	"_claim_sources": map[string]any{"src1": map[string]any{"endpoint": "https://graph.example.com/groups"}},
}

// rolesIn returns the roles of the members of an account, each with its group.
func rolesIn(c *client) string {
	c.t.Helper()
	var all []string
	for _, m := range c.must("GET", "/v3/members", "").Members {
		group := "by hand"
		if m.Group != nil {
			group = *m.Group
		}
		all = append(all, m.Role+" "+group)
	}
	return strings.Join(all, ", ")
}

// TestUnknownGroupsKeepRoles signs in somebody whose groups the issuer does not say. Their roles
// stay, no others come, and the role of an operator stays while a session has it.
func TestUnknownGroupsKeepRoles(t *testing.T) {
	t.Parallel()
	s := newSite(t, "staff=acme:viewer;engineers=labs:owner;ops=operator")
	acme, labs := s.client(t, "acme"), s.client(t, "labs")
	person := openidtest.Ada
	person.Groups = []string{"staff", "ops"}
	first, _ := s.signIn(t, person)
	person.Claims = overage
	isOperator := func(b *browser, want bool) {
		t.Helper()
		equal(t, "operator", b.must("GET", "/v3/session", "").Session.Operator, want)
	}
	second, _ := s.signIn(t, person)
	equal(t, "roles in acme", rolesIn(acme), "viewer staff")
	equal(t, "roles in labs", rolesIn(labs), "")
	isOperator(first, true)
	isOperator(second, true)
	if logged := s.log.matching("keeps the roles"); len(logged) != 1 {
		t.Errorf("unknown groups are logged as %v", logged)
	}

	first.must("DELETE", "/v3/session", "")
	if a := s.finish(t, second, person); a.status != http.StatusSeeOther { // in the same browser
		t.Fatalf("signing in again: %d %s", a.status, a.body)
	}
	isOperator(second, true)
	second.must("DELETE", "/v3/session", "")
	third, _ := s.signIn(t, person)
	isOperator(third, false)

	other, _ := s.signIn(t, openidtest.Person{Subject: "eve", Name: "Eve", Claims: overage})
	isOperator(other, false)
	equal(t, "roles in acme", rolesIn(acme), "viewer staff")

	person.Claims, person.Groups = nil, []string{"ops"}
	last, _ := s.signIn(t, person)
	equal(t, "roles in acme", rolesIn(acme), "")
	isOperator(last, true)
}

// TestMissingGroupsEndRoles signs in somebody without a claim of groups, which means none. It is
// logged, because a changed configuration of the issuer looks the same.
func TestMissingGroupsEndRoles(t *testing.T) {
	t.Parallel()
	s := newSite(t, "staff=acme:viewer")
	acme := s.client(t, "acme")
	person := openidtest.Ada
	for name, tc := range map[string]struct {
		claims map[string]any
		logged int
	}{
		"an empty list": {map[string]any{"groups": []string{}}, 0}, "no claim": {map[string]any{"groups": nil}, 1},
	} {
		before := len(s.log.matching("no claim with groups"))
		person.Claims = nil
		s.signIn(t, person)
		equal(t, "roles with groups", rolesIn(acme), "viewer staff")
		person.Claims = tc.claims
		for range 2 {
			s.signIn(t, person)
			equal(t, "roles with "+name, rolesIn(acme), "")
		}
		equal(t, "lines about "+name, len(s.log.matching("no claim with groups"))-before, tc.logged)
	}
}
