package members_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/openid/openidtest"
)

// TestMembers refuses unknown persons and roles, makes a person a member, and ends their sessions with the membership.
func TestMembers(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	owner := s.Client(t, "acme")
	ada, id := s.SignIn(t, openidtest.Ada)
	owner.Call("PUT", "/v3/members", `{"id":"`+uuid.NewString()+`","role":"viewer"}`).
		Is(http.StatusNotFound, apierror.CodeInvalidResource)
	owner.Call("PUT", "/v3/members", `{"id":"`+id+`","role":"king"}`).Is(http.StatusBadRequest, apierror.CodeWrongInput)
	owner.Call("PUT", "/v3/members", `{"role":"viewer"}`).Is(http.StatusBadRequest, apierror.CodeMissingInput)
	owner.Call("PUT", "/v3/members", `{"id":"ada","role":"viewer"}`).Is(http.StatusBadRequest, apierror.CodeWrongInput)
	owner.Call("PUT", "/v3/members", `{"id":"`+id+`"}`).Is(http.StatusBadRequest, apierror.CodeMissingInput)
	set := owner.Must("PUT", "/v3/members", `{"id":"`+strings.ToUpper(id)+`","role":"viewer"}`).Members
	if len(set) != 1 || set[0].ID != id || set[0].Name != openidtest.Ada.Name || set[0].Mail != openidtest.Ada.Mail ||
		set[0].Role != "viewer" || set[0].Group != nil {
		t.Errorf("the member is %+v", set)
	}
	listed := owner.Must("GET", "/v3/members", "").Members
	if len(listed) != 1 || listed[0].ID != id || listed[0].Role != "viewer" {
		t.Errorf("the members are %+v", listed)
	}
	ada.Must("PATCH", "/v3/session", `{"account":"acme"}`)
	owner.Must("DELETE", "/v3/members/"+id, "")
	owner.Call("DELETE", "/v3/members/"+id, "").Is(http.StatusNotFound, apierror.CodeInvalidResource)
	ada.Ended()
	httpapitest.Equal(t, "members", len(owner.Must("GET", "/v3/members", "").Members), 0)
}

// TestRepeatedMemberCalls checks that a late repeat of a call does not bring back a removed member,
// and does not remove one who was added again.
func TestRepeatedMemberCalls(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	owner := s.Client(t, "acme")
	_, id := s.SignIn(t, openidtest.Ada)
	first, second := httpapitest.Header("Idempotency-Key", "first"), httpapitest.Header("Idempotency-Key", "second")
	role, path := `{"id":"`+id+`","role":"owner"}`, "/v3/members/"+id
	owner.Call("DELETE", path, "", httpapitest.Header("Idempotency-Key", "early")).Is(http.StatusNotFound, apierror.CodeInvalidResource)
	owner.Must("PUT", "/v3/members", role, first)
	owner.Must("DELETE", path, "", second)
	owner.Must("PUT", "/v3/members", role, first)
	httpapitest.Equal(t, "members after a repeat", len(owner.Must("GET", "/v3/members", "").Members), 0)
	owner.Must("PUT", "/v3/members", role)
	owner.Must("DELETE", path, "", second)
	httpapitest.Equal(t, "members after another repeat", len(owner.Must("GET", "/v3/members", "").Members), 1)
}

// TestMembersCannotGiveMoreThanTheyHave sets members with keys and persons that may do less than
// the roles.
func TestMembersCannotGiveMoreThanTheyHave(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	owner := s.Client(t, "acme")
	boss, bossID := s.Member(t, owner, "boss", "owner")
	editor, editorID := s.Member(t, owner, "editor", "editor")
	_, id := s.SignIn(t, openidtest.Ada)
	refused := func(a *httpapitest.Answer) {
		t.Helper()
		a.Is(http.StatusForbidden, apierror.CodeAccessDenied)
	}
	role := func(id, role string) string { return `{"id":"` + id + `","role":"` + role + `"}` }
	refused(editor.Call("PUT", "/v3/members", role(id, "viewer")))
	refused(editor.Call("DELETE", "/v3/members/"+bossID, ""))
	only := owner.WithKey(`"scopes":["members"]`)
	refused(only.Call("PUT", "/v3/members", role(id, "viewer")))
	readers := owner.WithKey(`"scopes":["members","links:read","stats:read"]`)
	refused(readers.Call("PUT", "/v3/members", role(id, "editor")))
	refused(readers.Call("PUT", "/v3/members", role(id, "owner")))
	readers.Must("PUT", "/v3/members", role(id, "viewer"))
	refused(readers.Call("PUT", "/v3/members", role(editorID, "viewer"))) // takes more away than it has
	refused(readers.Call("DELETE", "/v3/members/"+bossID, ""))
	readers.Must("DELETE", "/v3/members/"+id, "")
	ending := owner.WithKey(`"expiration_date":"2026-12-31"`)
	refused(ending.Call("PUT", "/v3/members", role(id, "viewer"))) // a role does not end
	boss.Must("PUT", "/v3/members", role(id, "owner"))
	boss.Must("DELETE", "/v3/members/"+editorID, "")
	// A key that a person makes lies within the role.
	boss.Must("POST", "/v3/keys", `{"name":"of the boss"}`)
	httpapitest.Equal(t, "members", len(owner.Must("GET", "/v3/members", "").Members), 2)
}
