package signin_test

import (
	"net/http"
	"strings"
	"testing"

	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/openid/openidtest"
)

// overage is the claims of Entra for a person with more groups than fit into a token.
var overage = map[string]any{
	"groups": nil, "_claim_names": map[string]any{"groups": "src1"},
	"_claim_sources": map[string]any{"src1": map[string]any{"endpoint": "https://graph.example.com/groups"}},
}

// rolesIn returns the roles of the members of an account, each with its group.
func rolesIn(c *httpapitest.Client) string {
	c.T.Helper()
	var all []string
	for _, m := range c.Must("GET", "/v3/members", "").Members {
		group := "by hand"
		if m.Group != nil {
			group = *m.Group
		}
		all = append(all, m.Role+" "+group)
	}
	return strings.Join(all, ", ")
}

// TestUnknownGroupsKeepRoles signs in a person whose groups the issuer does not say. Their roles stay, no others come,
// and the role of an operator stays while a session has it.
func TestUnknownGroupsKeepRoles(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "staff=acme:viewer;engineers=labs:owner;ops=operator")
	acme, labs := s.Client(t, "acme"), s.Client(t, "labs")
	person := openidtest.Ada
	person.Groups = []string{"staff", "ops"}
	first, _ := s.SignIn(t, person)
	person.Claims = overage
	isOperator := func(b *browsertest.Browser, want bool) {
		t.Helper()
		httpapitest.Equal(t, "operator", b.Must("GET", "/v3/session", "").Session.Operator, want)
	}
	second, _ := s.SignIn(t, person)
	httpapitest.Equal(t, "roles in acme", rolesIn(acme), "viewer staff")
	httpapitest.Equal(t, "roles in labs", rolesIn(labs), "")
	isOperator(first, true)
	isOperator(second, true)
	if logged := s.Log.Matching("keeps the roles"); len(logged) != 1 {
		t.Errorf("unknown groups are logged as %v", logged)
	}

	first.Must("DELETE", "/v3/session", "")
	if a := s.Finish(t, second, person); a.Status != http.StatusSeeOther { // in the same browser
		t.Fatalf("signing in again: %d %s", a.Status, a.Body)
	}
	isOperator(second, true)
	second.Must("DELETE", "/v3/session", "")
	third, _ := s.SignIn(t, person)
	isOperator(third, false)

	other, _ := s.SignIn(t, openidtest.Person{Subject: "eve", Name: "Eve", Claims: overage})
	isOperator(other, false)
	httpapitest.Equal(t, "roles in acme", rolesIn(acme), "viewer staff")

	person.Claims, person.Groups = nil, []string{"ops"}
	last, _ := s.SignIn(t, person)
	httpapitest.Equal(t, "roles in acme", rolesIn(acme), "")
	isOperator(last, true)
}

// TestMissingGroupsEndRoles signs in a person without a claim of groups, which means none. It is logged, because a
// changed configuration of the issuer looks the same.
func TestMissingGroupsEndRoles(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "staff=acme:viewer")
	acme := s.Client(t, "acme")
	person := openidtest.Ada
	for name, tc := range map[string]struct {
		claims map[string]any
		logged int
	}{
		"an empty list": {map[string]any{"groups": []string{}}, 0}, "no claim": {map[string]any{"groups": nil}, 1},
	} {
		before := len(s.Log.Matching("no claim with groups"))
		person.Claims = nil
		s.SignIn(t, person)
		httpapitest.Equal(t, "roles with groups", rolesIn(acme), "viewer staff")
		person.Claims = tc.claims
		for range 2 {
			s.SignIn(t, person)
			httpapitest.Equal(t, "roles with "+name, rolesIn(acme), "")
		}
		httpapitest.Equal(t, "lines about "+name, len(s.Log.Matching("no claim with groups"))-before, tc.logged)
	}
}
