package sessions_test

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

// TestSessionOfAKey checks that a session that a key started may do what the key may.
func TestSessionOfAKey(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	owner := s.Client(t, "acme")
	owner.Create(`"long_url":"https://example.com/","custom_hash":"seen","tags":["news"]`)
	owner.Create(`"long_url":"https://example.com/","custom_hash":"hidden"`)
	added := owner.Must("POST", "/v3/keys", `{"name":"bound","scopes":["links:read","links:create"],"tags":"+news"}`).Keys[0]
	bound := *owner
	bound.Key = added.Key
	b := s.Browser(t)
	started := b.SignInBy(&bound)
	session := b.Must("GET", "/v3/session", "").Session
	if session.ID != started.ID || *session.Key != added.ID || session.User != nil || session.Role != nil ||
		strings.Join(session.Scopes, " ") != "links:read links:create" {
		t.Errorf("the session is %+v", session)
	}
	httpapitest.Equal(t, "links", len(b.Must("GET", "/v3/urls", "").URLs), 1)
	b.Call("PATCH", "/v3/urls/seen", `{"urls":[{"note":"x"}]}`).Is(http.StatusForbidden, apierror.CodeAccessDenied)
	b.Must("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"new","tags":["news"]}]}`)
	actor := owner.Must("GET", "/v3/urls/new/history", "").History.Events[1].Actor
	if actor.Key != added.ID || actor.KeyName != "bound" || actor.Via != "console" || actor.User != "" {
		t.Errorf("the actor is %+v", actor)
	}
	b.Call("PATCH", "/v3/session", `{"account":"acme"}`).Is(http.StatusForbidden, apierror.CodeAccessDenied)
	b.Call("POST", "/v3/sessions", "").Is(http.StatusBadRequest, apierror.CodeWrongInput)
	owner.Must("DELETE", "/v3/keys/"+added.ID, "")
	b.Ended()
	owner.Call("GET", "/v3/session", "").Is(http.StatusBadRequest, apierror.CodeInvalidKey)
}

// TestSessionsAreListed checks who sees and ends whose sessions.
func TestSessionsAreListed(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	owner, other := s.Client(t, "acme"), s.Client(t, "other")
	boss, _ := s.Member(t, owner, "boss", "owner")
	ada, _ := s.Member(t, owner, "ada", "viewer")
	second, _ := s.SignIn(t, openidtest.Person{Subject: "ada", Name: "Ada"})
	foreign := s.Browser(t)
	foreign.SignInBy(other)
	byKey := s.Browser(t)
	byKey.SignInBy(owner)

	own := ada.Must("GET", "/v3/sessions", "").Sessions
	if len(own) != 2 || own[0].UserName != "Ada" || own[0].Current == own[1].Current {
		t.Errorf("ada sees %+v", own)
	}
	all := boss.Must("GET", "/v3/sessions", "").Sessions
	httpapitest.Equal(t, "sessions of the account", len(all), 4)
	bossSession := boss.Must("GET", "/v3/session", "").Session.ID
	for _, hidden := range []string{bossSession, foreign.Must("GET", "/v3/session", "").Session.ID, uuid.NewString(), "x"} {
		ada.Call("DELETE", "/v3/sessions/"+hidden, "").Is(http.StatusNotFound, apierror.CodeInvalidResource)
	}
	boss.Call("DELETE", "/v3/sessions/"+foreign.Must("GET", "/v3/session", "").Session.ID, "").
		Is(http.StatusNotFound, apierror.CodeInvalidResource)
	ada.Must("DELETE", "/v3/sessions/"+second.Must("GET", "/v3/session", "").Session.ID, "")
	second.Ended()
	boss.Must("DELETE", "/v3/sessions/"+byKey.Must("GET", "/v3/session", "").Session.ID, "")
	byKey.Ended()
	owner.Must("DELETE", "/v3/sessions/"+bossSession, "")
	boss.Ended()
	ada.Must("GET", "/v3/session", "")
}
