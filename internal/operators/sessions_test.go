package operators_test

import (
	"net/http"
	"strings"
	"testing"

	"linkledger/internal/operators/operatorstest"

	"github.com/google/uuid"

	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/openid/openidtest"
	"linkledger/projections/engine"
	"linkledger/queries/accountlist"
	"linkledger/queries/sessionlist"
)

// TestOperatorsEndSessions lists the sessions of operators and sessions without an account, and ends them. No list has
// sessions that only an account has, or ended sessions.
func TestOperatorsEndSessions(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "ops=operator")
	h := operatorstest.For(t, s.Stack, engine.Config{}, httpapitest.Timeout)
	owner := s.Client(t, "acme")
	me := operatorstest.SignIn(t, s.Stack, h)
	former := operatorstest.SignIn(t, s.Stack, h)
	ada, _ := s.SignIn(t, openidtest.Person{Subject: "ada", Name: "Ada Lovelace", Groups: []string{"ops"}})
	nobody, _ := s.SignIn(t, openidtest.Person{Subject: "eve", Name: "Eve <script>"})
	byKey := keySession(t, s.Stack, h, owner, owner.Must("POST", "/v3/keys", `{"name":"deploy"}`).Keys[0].ID)
	revoked := owner.Must("POST", "/v3/keys", `{"name":"lost"}`).Keys[0].ID
	keySession(t, s.Stack, h, owner, revoked)
	owner.Must("DELETE", "/v3/keys/"+revoked, "")
	member, _ := s.Member(t, owner, "member", "viewer")

	idOf := func(b *browsertest.Browser) string { return b.On(s.Server).Must("GET", "/v3/session", "").Session.ID }
	body := me.Shows("/console/sessions", "one-time link", "Ada Lovelace", "Eve <script>", "key deploy", "acme", "this browser",
		"linkledger console session end ID")
	httpapitest.Equal(t, "sessions", strings.Count(body, `/end">`), 5)
	for _, b := range []*browsertest.Browser{me, former, ada, nobody, byKey} {
		if !strings.Contains(body, idOf(b)) {
			t.Errorf("the page lacks the session %s\n%s", idOf(b), body)
		}
	}
	for name, hidden := range map[string]string{
		"a member": idOf(member), "nobody": uuid.NewString(), "no id": "x", "zero": uuid.Nil.String(),
	} {
		if a := me.Refuses("/console/sessions/"+hidden+"/end", nil); a.Status != http.StatusOK {
			t.Errorf("to end the session of %s answers %d", name, a.Status)
		}
	}
	member.Must("GET", "/v3/session", "")
	for name, b := range map[string]*browsertest.Browser{"one-time link": former, "ada": ada, "eve": nobody, "key": byKey} {
		kept := b.Copy().On(s.Node)
		me.Leads("/console/sessions/"+idOf(b)+"/end", nil, "/console/sessions")
		kept.Ended()
		if b.On(h).Call("GET", "/console", "").Status == http.StatusOK {
			t.Errorf("the session of %s goes on", name)
		}
	}
	httpapitest.Equal(t, "sessions", strings.Count(me.Shows("/console/sessions"), `/end">`), 1)
	if len(s.Log.Matching("an operator acts", "end a session")) != 4 {
		t.Error("the log does not say who ended sessions")
	}
	me.Leads("/console/sessions/"+idOf(me)+"/end", nil, "/console/sessions")
	httpapitest.Equal(t, "cookies after the end of the own session", len(me.Cookies), 0)
}

// TestSessionsAreListedForOperators checks bounds of the list: sessions that are over are not in it.
func TestSessionsAreListedForOperators(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	list := sessionlist.New(s.DB)
	now := s.Now()
	id, _, err := s.DB.Keys.StartSession(httpapitest.WithTimeout(t), accountlist.NewSession{Operator: true, Agent: "Firefox"}, now)
	if err != nil {
		t.Fatal(err)
	}
	found, err := list.Find(httpapitest.WithTimeout(t), id, now)
	if err != nil || !found.Operator || found.Agent != "Firefox" || found.ID != id {
		t.Errorf("%+v, %v", found, err)
	}
	all, err := list.ForOperators(httpapitest.WithTimeout(t), now.AddDate(0, 0, 1))
	if err != nil || len(all) > 0 {
		t.Errorf("after a day: %+v, %v", all, err)
	}
}
