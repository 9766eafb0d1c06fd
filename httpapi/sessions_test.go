package httpapi

import (
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/domain"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/openid/openidtest"
	"linkledger/httpapi/signin"
	"linkledger/projections"
)

// signInBy signs a browser in with the API key of a client.
func (b *browser) signInBy(c *client) contract.Session {
	b.t.Helper()
	a := b.call("POST", "/v3/sessions", "", func(r *http.Request) { r.SetBasicAuth(c.username, c.key) })
	a.is(http.StatusOK, apierror.CodeOK)
	return a.Sessions[0]
}

// TestSessionOfAKey checks that a session that a key started may do what the key may.
func TestSessionOfAKey(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	owner := s.client(t, "acme")
	owner.create(`"long_url":"https://example.com/","custom_hash":"seen","tags":["news"]`)
	owner.create(`"long_url":"https://example.com/","custom_hash":"hidden"`)
	added := owner.must("POST", "/v3/keys", `{"name":"bound","scopes":["links:read","links:create"],"tags":"+news"}`).Keys[0]
	bound := *owner
	bound.key = added.Key
	b := s.browser(t)
	started := b.signInBy(&bound)
	session := b.must("GET", "/v3/session", "").Session
	if session.ID != started.ID || *session.Key != added.ID || session.User != nil || session.Role != nil ||
		strings.Join(session.Scopes, " ") != "links:read links:create" {
		t.Errorf("the session is %+v", session)
	}
	equal(t, "links", len(b.must("GET", "/v3/urls", "").URLs), 1)
	b.call("PATCH", "/v3/urls/seen", `{"urls":[{"note":"x"}]}`).is(http.StatusForbidden, apierror.CodeAccessDenied)
	b.must("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"new","tags":["news"]}]}`)
	actor := owner.must("GET", "/v3/urls/new/history", "").History.Events[1].Actor
	if actor.Key != added.ID || actor.KeyName != "bound" || actor.Via != "console" || actor.User != "" {
		t.Errorf("the actor is %+v", actor)
	}
	b.call("PATCH", "/v3/session", `{"account":"acme"}`).is(http.StatusForbidden, apierror.CodeAccessDenied)
	b.call("POST", "/v3/sessions", "").is(http.StatusBadRequest, apierror.CodeWrongInput)
	owner.must("DELETE", "/v3/keys/"+added.ID, "")
	b.ended()
	owner.call("GET", "/v3/session", "").is(http.StatusBadRequest, apierror.CodeInvalidKey)
}

// TestSessionsEnd checks each way in which a session ends.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	owner := s.client(t, "acme")
	ada, id := s.member(t, owner, "ada", "editor")

	owner.must("PUT", "/v3/members", `{"id":"`+id+`","role":"viewer"}`)
	ada.ended()
	owner.must("PUT", "/v3/members", `{"id":"`+id+`","role":"editor"}`)
	ada.ended() // not even the former role brings it back

	ada, _ = s.signIn(t, openidtest.Person{Subject: "ada", Name: "Ada"})
	idle, _ := s.signIn(t, openidtest.Person{Subject: "ada", Name: "Ada"})
	start, _ := time.Parse(time.RFC3339, noon)
	for hours := 11; hours < 7*24; hours += 11 {
		s.at(t, start.Add(time.Duration(hours)*time.Hour).Format(time.RFC3339))
		ada.must("GET", "/v3/session", "")
	}
	idle.ended()
	s.at(t, start.Add(7*24*time.Hour).Format(time.RFC3339))
	ada.ended()

	ada, _ = s.signIn(t, openidtest.Person{Subject: "ada", Name: "Ada"})
	kept := ada.copy()
	ada.must("DELETE", "/v3/session", "")
	equal(t, "cookies after the sign-out", len(ada.cookies), 0)
	kept.ended()

	ada, _ = s.signIn(t, openidtest.Person{Subject: "ada", Name: "Ada"})
	former := ada.copy()
	if a := s.finish(t, ada, openidtest.Person{Subject: "ada", Name: "Ada"}); a.status != http.StatusSeeOther {
		t.Fatalf("the second sign-in answered %d %s", a.status, a.body)
	}
	ada.must("GET", "/v3/session", "")
	former.ended()

	deactivated, err := s.accounts.Deactivate(withTimeout(t), domain.Request{Operator: true, Command: uuid.New()}, "acme")
	if err == nil {
		err = s.waiter.Wait(withTimeout(t), projections.Accounts, deactivated.Position.Commit)
	}
	if err != nil {
		t.Fatal(err)
	}
	ada.call("GET", "/v3/urls", "").is(http.StatusForbidden, apierror.CodeAccessDenied)
}

// TestSessionsAreListed checks who sees and ends whose sessions.
func TestSessionsAreListed(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	owner, other := s.client(t, "acme"), s.client(t, "other")
	boss, _ := s.member(t, owner, "boss", "owner")
	ada, _ := s.member(t, owner, "ada", "viewer")
	second, _ := s.signIn(t, openidtest.Person{Subject: "ada", Name: "Ada"})
	foreign := s.browser(t)
	foreign.signInBy(other)
	byKey := s.browser(t)
	byKey.signInBy(owner)

	own := ada.must("GET", "/v3/sessions", "").Sessions
	if len(own) != 2 || own[0].UserName != "Ada" || own[0].Current == own[1].Current {
		t.Errorf("ada sees %+v", own)
	}
	all := boss.must("GET", "/v3/sessions", "").Sessions
	equal(t, "sessions of the account", len(all), 4)
	bossSession := boss.must("GET", "/v3/session", "").Session.ID
	for _, hidden := range []string{bossSession, foreign.must("GET", "/v3/session", "").Session.ID, uuid.NewString(), "x"} {
		ada.call("DELETE", "/v3/sessions/"+hidden, "").is(http.StatusNotFound, apierror.CodeInvalidResource)
	}
	boss.call("DELETE", "/v3/sessions/"+foreign.must("GET", "/v3/session", "").Session.ID, "").
		is(http.StatusNotFound, apierror.CodeInvalidResource)
	ada.must("DELETE", "/v3/sessions/"+second.must("GET", "/v3/session", "").Session.ID, "")
	second.ended()
	boss.must("DELETE", "/v3/sessions/"+byKey.must("GET", "/v3/session", "").Session.ID, "")
	byKey.ended()
	owner.must("DELETE", "/v3/sessions/"+bossSession, "")
	boss.ended()
	ada.must("GET", "/v3/session", "")
}

// TestSessionsEndAtOnce ends a session and a membership while 64 tabs use them on two nodes. No
// call that begins after the answer is carried out.
func TestSessionsEndAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	owner := s.client(t, "acme")
	for name, end := range map[string]func(id string, b *browser){
		"session": func(_ string, b *browser) {
			owner.must("DELETE", "/v3/sessions/"+b.must("GET", "/v3/session", "").Session.ID, "")
		},
		"membership": func(id string, _ *browser) { owner.must("DELETE", "/v3/members/"+id, "") },
		"role":       func(id string, _ *browser) { owner.must("PUT", "/v3/members", `{"id":"`+id+`","role":"viewer"}`) },
	} {
		b, id := s.member(t, owner, "user-"+name, "editor") // one by one: the issuer signs in whom it was told last
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endsAtOnce(t, func(i int) func() *answer {
				tab, cookies := b.copy(), maps.Clone(b.cookies)
				if i%2 == 0 {
					tab = tab.on(s.node)
				}
				return func() *answer {
					maps.Copy(tab.cookies, cookies) // a refusal deletes it
					return tab.call("POST", "/v3/urls", batch(1))
				}
			}, func() { end(id, b) })
		})
	}
}

// TestOtherOrigins checks that pages of other origins can neither use a session nor start one.
func TestOtherOrigins(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	owner := s.client(t, "acme")
	b := s.browser(t)
	b.signInBy(owner)
	for name, headers := range map[string]map[string]string{
		"another site":           {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
		"a sibling host":         {"Sec-Fetch-Site": "same-site", "Origin": "https://evil." + shortHost},
		"an old browser":         {"Origin": "https://evil.example"},
		"a page without origin":  {"Origin": "null"},
		"another scheme or port": {"Origin": "http://" + shortHost + ":81"},
	} {
		set := func(r *http.Request) {
			for name, value := range headers {
				r.Header.Set(name, value)
			}
		}
		form := header("Content-Type", "application/x-www-form-urlencoded")
		a := b.call("POST", "/v3/urls", "urls[0][long_url]=https://example.com/", set, form)
		if a.code() != apierror.CodeAccessDenied || a.status != http.StatusForbidden {
			t.Errorf("%s creates: %d %+v", name, a.status, a.Error)
		}
		a = b.call("POST", "/v3/urls/x", "", set, form, header("X-HTTP-Method-Override", "DELETE"))
		if a.code() != apierror.CodeAccessDenied {
			t.Errorf("%s deletes: %d %+v", name, a.status, a.Error)
		}
		a = s.browser(t).call("POST", "/v3/sessions", "", set, func(r *http.Request) { r.SetBasicAuth(owner.username, owner.key) })
		if a.code() != apierror.CodeAccessDenied || a.header.Get("Set-Cookie") != "" {
			t.Errorf("%s signs in: %d %+v", name, a.status, a.Error)
		}
		a = b.call("GET", "/v3/urls", "", set)
		if headers["Sec-Fetch-Site"] != "" && a.code() != apierror.CodeAccessDenied {
			t.Errorf("%s reads: %d %+v", name, a.status, a.Error)
		}
		if a.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s may read with cookies", name)
		}
	}
	for name, headers := range map[string]map[string]string{
		"the same origin":     {"Sec-Fetch-Site": "same-origin", "Origin": "http://" + shortHost},
		"behind a proxy":      {"Origin": "http://" + shortHost, "Host": "inner:8080"},
		"the address bar":     {"Sec-Fetch-Site": "none"},
		"no browser, no page": {},
	} {
		a := b.call("POST", "/v3/urls", batch(1), func(r *http.Request) {
			for name, value := range headers {
				r.Header.Set(name, value)
			}
			if host := headers["Host"]; host != "" {
				r.Host = host
			}
		})
		if a.status != http.StatusOK {
			t.Errorf("%s: %d %+v", name, a.status, a.Error)
		}
	}
}

// TestSessionCookies checks the attributes of the cookie, and that damaged ones are no session.
func TestSessionCookies(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"http://" + shortHost:  "linkledger=SECRET; Path=/; HttpOnly; SameSite=Lax",
		"https://" + shortHost: "__Host-linkledger=SECRET; Path=/; HttpOnly; Secure; SameSite=Lax",
	} {
		s := newStack(t, func(cfg *Config) { cfg.BaseURL = base })
		owner := s.client(t, "acme")
		b := &browser{t, s.handler, make(map[string]*http.Cookie)}
		a := b.call("POST", "/v3/sessions", "", func(r *http.Request) { r.SetBasicAuth(owner.username, owner.key) })
		a.is(http.StatusOK, apierror.CodeOK)
		name, rest, _ := strings.Cut(a.header.Get("Set-Cookie"), "=")
		value, attributes, _ := strings.Cut(rest, ";")
		equal(t, "cookie", name+"=SECRET;"+attributes, want)
		b.must("GET", "/v3/session", "")
		if len(s.log.matching(value)) > 0 {
			t.Error("the secret is logged")
		}
		var stored int
		if err := s.db.NewRaw("SELECT count(*) FROM linkledger_keys.sessions AS s WHERE position(? in s::text) > 0", value).
			Scan(withTimeout(t), &stored); err != nil || stored > 0 {
			t.Errorf("the secret is stored %d times, %v", stored, err)
		}
		for _, damaged := range []string{"", value[1:], value + "A", strings.Repeat("A", 43), value[:42] + "!", value[:42] + "'"} {
			a := send(t, s.handler, "GET", "/v3/session", "", header("Cookie", name+"="+damaged))
			a.is(http.StatusBadRequest, apierror.CodeInvalidKey)
			a = send(t, s.handler, "GET", "/v3/urls", "", header("Cookie", name+"="+damaged))
			a.is(http.StatusBadRequest, apierror.CodeInvalidKey)
		}
		twice := send(t, s.handler, "GET", "/v3/session", "", header("Cookie", name+"="+value+"; "+name+"="+value))
		twice.is(http.StatusBadRequest, apierror.CodeInvalidKey) // one of them may come from another path
		other := map[string]string{"linkledger": "__Host-linkledger", "__Host-linkledger": "linkledger"}[name]
		send(t, s.handler, "GET", "/v3/session", "", header("Cookie", other+"="+value)).
			is(http.StatusBadRequest, apierror.CodeInvalidKey)
	}
}

// TestRefusedSignIns checks what a person sees whose sign-in fails, and that no session starts.
func TestRefusedSignIns(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	s.client(t, "acme")
	for name, tc := range map[string]struct {
		prepare func()
		status  int
		code    apierror.Code
	}{
		"refused by the issuer": {func() { s.issuer.Refuse("access_denied") }, http.StatusForbidden, apierror.CodeAccessDenied},
		"expired token":         {func() { s.issuer.Misbehave(openidtest.Expired) }, http.StatusBadRequest, apierror.CodeInvalidKey},
		"unsigned token":        {func() { s.issuer.Misbehave(openidtest.Unsigned) }, http.StatusBadRequest, apierror.CodeInvalidKey},
		"broken issuer":         {func() { s.issuer.Misbehave(openidtest.TokenFails) }, http.StatusServiceUnavailable, apierror.CodeUnknown},
	} {
		b := s.browser(t)
		tc.prepare()
		a := s.finish(t, b, openidtest.Ada)
		if a.status != tc.status || a.code() != tc.code || len(b.cookies) > 0 {
			t.Errorf("%s: %d %+v, cookies %v", name, a.status, a.Error, b.cookies)
		}
		s.issuer.Refuse("")
		s.issuer.Misbehave(0)
	}
	back := s.browser(t).call("GET", signin.CallbackPath+"?code=x&state=y", "")
	back.is(http.StatusBadRequest, apierror.CodeInvalidKey)
	without := newStack(t)
	if a := send(t, without.handler, "GET", signin.BeginPath, ""); a.status != http.StatusNotFound {
		t.Errorf("without an issuer the sign-in answers %d", a.status)
	}
}
