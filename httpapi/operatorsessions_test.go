package httpapi

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"linkledger/httpapi/openid/openidtest"
	"linkledger/projections/engine"
	"linkledger/queries/accountlist"
	"linkledger/queries/sessionlist"
)

// TestOperatorsEndSessions lists the sessions of operators and those without an account, and ends them. No list has
// those that only an account has, or that have ended.
func TestOperatorsEndSessions(t *testing.T) {
	t.Parallel()
	s := newSite(t, "ops=operator")
	h := s.operators(t, engine.Config{}, testTimeout)
	owner := s.client(t, "acme")
	me := s.operator(t, h)
	former := s.operator(t, h)
	ada, _ := s.signIn(t, openidtest.Person{Subject: "ada", Name: "Ada Lovelace", Groups: []string{"ops"}})
	nobody, _ := s.signIn(t, openidtest.Person{Subject: "eve", Name: "Eve <script>"})
	byKey := s.keySession(t, h, owner, owner.must("POST", "/v3/keys", `{"name":"deploy"}`).Keys[0].ID)
	revoked := owner.must("POST", "/v3/keys", `{"name":"lost"}`).Keys[0].ID
	s.keySession(t, h, owner, revoked)
	owner.must("DELETE", "/v3/keys/"+revoked, "")
	member, _ := s.member(t, owner, "member", "viewer")

	idOf := func(b *browser) string { return b.on(s.handler).must("GET", "/v3/session", "").Session.ID }
	body := me.shows("/console/sessions", "one-time link", "Ada Lovelace", "Eve <script>", "key deploy", "acme", "this browser",
		"linkledger console session end ID")
	equal(t, "sessions", strings.Count(body, `/end">`), 5)
	for _, b := range []*browser{me, former, ada, nobody, byKey} {
		if !strings.Contains(body, idOf(b)) {
			t.Errorf("the page lacks the session %s\n%s", idOf(b), body)
		}
	}
	for name, hidden := range map[string]string{
		"a member": idOf(member), "nobody": uuid.NewString(), "no id": "x", "zero": uuid.Nil.String(),
	} {
		if a := me.refuses("/console/sessions/"+hidden+"/end", nil); a.status != http.StatusOK {
			t.Errorf("to end the session of %s answers %d", name, a.status)
		}
	}
	member.must("GET", "/v3/session", "")
	for name, b := range map[string]*browser{"one-time link": former, "ada": ada, "eve": nobody, "key": byKey} {
		kept := &browser{t, s.node, maps.Clone(b.cookies)}
		me.leads("/console/sessions/"+idOf(b)+"/end", nil, "/console/sessions")
		kept.ended()
		if b.on(h).call("GET", "/console", "").status == http.StatusOK {
			t.Errorf("the session of %s goes on", name)
		}
	}
	equal(t, "sessions", strings.Count(me.shows("/console/sessions"), `/end">`), 1)
	if len(s.log.matching("an operator acts", "end a session")) != 4 {
		t.Error("the log does not say who ended sessions")
	}
	me.leads("/console/sessions/"+idOf(me)+"/end", nil, "/console/sessions")
	equal(t, "cookies after the end of the own session", len(me.cookies), 0)
}

// TestSessionsAreListedForOperators checks bounds of the list: sessions that are over are not in it.
func TestSessionsAreListedForOperators(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	list := sessionlist.New(s.db)
	now := *s.now.Load()
	id, _, err := s.db.Keys.StartSession(withTimeout(t), accountlist.NewSession{Operator: true, Agent: "Firefox"}, now)
	if err != nil {
		t.Fatal(err)
	}
	found, err := list.Find(withTimeout(t), id, now)
	if err != nil || !found.Operator || found.Agent != "Firefox" || found.ID != id {
		t.Errorf("%+v, %v", found, err)
	}
	all, err := list.ForOperators(withTimeout(t), now.AddDate(0, 0, 1))
	if err != nil || len(all) > 0 {
		t.Errorf("after a day: %+v, %v", all, err)
	}
}
