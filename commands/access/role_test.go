package access

import (
	"fmt"
	"slices"
	"testing"

	"linkledger/commands/domain"
	"linkledger/events"
)

// TestRoles checks that a role may do at most what the next one may, and that one that this version
// does not know may do nothing.
func TestRoles(t *testing.T) {
	t.Parallel()
	for _, role := range Roles() {
		if checked, err := CheckedRole(string(role)); err != nil || checked != role {
			t.Errorf("%s is %s, %v", role, checked, err)
		}
		if !Within(role.Terms(), Owner.Terms()) || role != Owner && Within(Owner.Terms(), role.Terms()) {
			t.Errorf("%s may not do less than an owner", role)
		}
		if _, err := Checked(role.Terms()); err != nil {
			t.Errorf("the terms of %s: %v", role, err)
		}
	}
	if !Within(Viewer.Terms(), Editor.Terms()) || !Within(Viewer.Terms(), Auditor.Terms()) || Within(Auditor.Terms(), Editor.Terms()) {
		t.Error("a viewer may do more than an editor or an auditor, or an auditor may do less")
	}
	if role, err := CheckedRole("owner\u2028"); domain.KindOf(err) != domain.InvalidValue {
		t.Errorf("an owner with a separator is %q, %v", role, err)
	}
	later := Role("of a later version")
	if _, err := CheckedRole(string(later)); domain.KindOf(err) != domain.InvalidValue || ScopesOf(later.Terms().Scopes) != 0 {
		t.Errorf("%s: %v, may %v", later, err, ScopesOf(later.Terms().Scopes).Names())
	}
}

// TestImpliedScopes checks that who changes a list may read it, and not the reverse.
func TestImpliedScopes(t *testing.T) {
	t.Parallel()
	for scope, want := range map[string][]string{
		"keys": {"keys", "keys:read"}, "keys:read": {"keys:read"},
		"members": {"members", "members:read"}, "members:read": {"members:read"},
	} {
		if got := ScopesOf([]string{scope}).Names(); !slices.Equal(got, want) {
			t.Errorf("%s gives %v; want %v", scope, got, want)
		}
	}
	if got, err := Checked(events.KeyTerms{Scopes: []string{"keys"}}); err != nil || len(got.Scopes) != 1 {
		t.Errorf("keys is stored as %v, %v", got.Scopes, err)
	}
}

func TestParseGroupRoles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                             "[]",
		" ; ":                          "[]",
		"a=acme:editor":                "[{a acme editor false}]",
		"a = acme:owner ; b=operator;": "[{a acme owner false} {b   true}]",
		"cn=a,ou=b=acme:viewer":        "[{cn=a,ou=b acme viewer false}]",
		"a":                            "", "=acme:viewer": "", "a=acme": "", "a=:viewer": "", "a=acme:king": "", "a=operator:x": "",
	} {
		got, err := ParseGroupRoles(text)
		if (err != nil) != (want == "") || err == nil && fmt.Sprint(got) != want {
			t.Errorf("%q is %v, %v; want %s", text, got, err, want)
		}
	}
}
