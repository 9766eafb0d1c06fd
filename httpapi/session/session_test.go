package session_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/domain"
	"linkledger/httpapi"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/openid/openidtest"
	"linkledger/projections"
)

// TestSessionsEnd checks each way in which a session ends.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	owner := s.Client(t, "acme")
	ada, id := s.Member(t, owner, "ada", "editor")

	owner.Must("PUT", "/v3/members", `{"id":"`+id+`","role":"viewer"}`)
	ada.Ended()
	owner.Must("PUT", "/v3/members", `{"id":"`+id+`","role":"editor"}`)
	ada.Ended() // not even the former role brings it back

	ada, _ = s.SignIn(t, openidtest.Person{Subject: "ada", Name: "Ada"})
	idle, _ := s.SignIn(t, openidtest.Person{Subject: "ada", Name: "Ada"})
	start, _ := time.Parse(time.RFC3339, httpapitest.Noon)
	for hours := 11; hours < 7*24; hours += 11 {
		s.SetTime(t, start.Add(time.Duration(hours)*time.Hour).Format(time.RFC3339))
		ada.Must("GET", "/v3/session", "")
	}
	idle.Ended()
	s.SetTime(t, start.Add(7*24*time.Hour).Format(time.RFC3339))
	ada.Ended()

	ada, _ = s.SignIn(t, openidtest.Person{Subject: "ada", Name: "Ada"})
	kept := ada.Copy()
	ada.Must("DELETE", "/v3/session", "")
	httpapitest.Equal(t, "cookies after the sign-out", len(ada.Cookies), 0)
	kept.Ended()

	ada, _ = s.SignIn(t, openidtest.Person{Subject: "ada", Name: "Ada"})
	former := ada.Copy()
	if a := s.Finish(t, ada, openidtest.Person{Subject: "ada", Name: "Ada"}); a.Status != http.StatusSeeOther {
		t.Fatalf("the second sign-in answered %d %s", a.Status, a.Body)
	}
	ada.Must("GET", "/v3/session", "")
	former.Ended()

	deactivated, err := s.Accounts.Deactivate(httpapitest.WithTimeout(t), domain.Request{Operator: true, Command: uuid.New()}, "acme")
	if err == nil {
		err = s.Waiter.Wait(httpapitest.WithTimeout(t), projections.Accounts, deactivated.Position.Commit)
	}
	if err != nil {
		t.Fatal(err)
	}
	ada.Call("GET", "/v3/urls", "").Is(http.StatusForbidden, apierror.CodeAccessDenied)
}

// TestSessionsEndAtOnce ends a session and a membership while 64 tabs use them on two nodes. No
// call that begins after the answer is carried out.
func TestSessionsEndAtOnce(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	owner := s.Client(t, "acme")
	for name, end := range map[string]func(id string, b *browsertest.Browser){
		"session": func(_ string, b *browsertest.Browser) {
			owner.Must("DELETE", "/v3/sessions/"+b.Must("GET", "/v3/session", "").Session.ID, "")
		},
		"membership": func(id string, _ *browsertest.Browser) { owner.Must("DELETE", "/v3/members/"+id, "") },
		"role": func(id string, _ *browsertest.Browser) {
			owner.Must("PUT", "/v3/members", `{"id":"`+id+`","role":"viewer"}`)
		},
	} {
		b, id := s.Member(t, owner, "user-"+name, "editor") // one by one: the issuer signs in the person set last
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			httpapitest.EndsAtOnce(t, func(i int) func() *httpapitest.Answer {
				tab, cookies := b.Copy(), maps.Clone(b.Cookies)
				if i%2 == 0 {
					tab = tab.On(s.Node)
				}
				return func() *httpapitest.Answer {
					maps.Copy(tab.Cookies, cookies) // a refusal deletes it
					return tab.Call("POST", "/v3/urls", httpapitest.Batch(1))
				}
			}, func() { end(id, b) })
		})
	}
}

// TestOtherOrigins checks that pages of other origins can neither use a session nor start one.
func TestOtherOrigins(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	owner := s.Client(t, "acme")
	b := s.Browser(t)
	b.SignInBy(owner)
	for name, headers := range map[string]map[string]string{
		"another site":           {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
		"a sibling host":         {"Sec-Fetch-Site": "same-site", "Origin": "https://evil." + httpapitest.ShortHost},
		"an old browser":         {"Origin": "https://evil.example"},
		"a page without origin":  {"Origin": "null"},
		"another scheme or port": {"Origin": "http://" + httpapitest.ShortHost + ":81"},
	} {
		set := func(r *http.Request) {
			for name, value := range headers {
				r.Header.Set(name, value)
			}
		}
		form := httpapitest.Header("Content-Type", "application/x-www-form-urlencoded")
		a := b.Call("POST", "/v3/urls", "urls[0][long_url]=https://example.com/", set, form)
		if a.Code() != apierror.CodeAccessDenied || a.Status != http.StatusForbidden {
			t.Errorf("%s creates: %d %+v", name, a.Status, a.Error)
		}
		a = b.Call("POST", "/v3/urls/x", "", set, form, httpapitest.Header("X-HTTP-Method-Override", "DELETE"))
		if a.Code() != apierror.CodeAccessDenied {
			t.Errorf("%s deletes: %d %+v", name, a.Status, a.Error)
		}
		a = s.Browser(t).Call("POST", "/v3/sessions", "", set, func(r *http.Request) { r.SetBasicAuth(owner.Username, owner.Key) })
		if a.Code() != apierror.CodeAccessDenied || a.Header.Get("Set-Cookie") != "" {
			t.Errorf("%s signs in: %d %+v", name, a.Status, a.Error)
		}
		a = b.Call("GET", "/v3/urls", "", set)
		if headers["Sec-Fetch-Site"] != "" && a.Code() != apierror.CodeAccessDenied {
			t.Errorf("%s reads: %d %+v", name, a.Status, a.Error)
		}
		if a.Header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s may read with cookies", name)
		}
	}
	for name, headers := range map[string]map[string]string{
		"the same origin":     {"Sec-Fetch-Site": "same-origin", "Origin": "http://" + httpapitest.ShortHost},
		"behind a proxy":      {"Origin": "http://" + httpapitest.ShortHost, "Host": "inner:8080"},
		"the address bar":     {"Sec-Fetch-Site": "none"},
		"no browser, no page": {},
	} {
		a := b.Call("POST", "/v3/urls", httpapitest.Batch(1), func(r *http.Request) {
			for name, value := range headers {
				r.Header.Set(name, value)
			}
			if host := headers["Host"]; host != "" {
				r.Host = host
			}
		})
		if a.Status != http.StatusOK {
			t.Errorf("%s: %d %+v", name, a.Status, a.Error)
		}
	}
}

// TestSessionCookies checks the attributes of the cookie, and that damaged ones are no session.
func TestSessionCookies(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"http://" + httpapitest.ShortHost:  "linkledger=SECRET; Path=/; HttpOnly; SameSite=Lax",
		"https://" + httpapitest.ShortHost: "__Host-linkledger=SECRET; Path=/; HttpOnly; Secure; SameSite=Lax",
	} {
		s := httpapitest.New(t, func(cfg *httpapi.Config) { cfg.BaseURL = base })
		owner := s.Client(t, "acme")
		b := browsertest.NewBrowser(t, s.Server)
		a := b.Call("POST", "/v3/sessions", "", func(r *http.Request) { r.SetBasicAuth(owner.Username, owner.Key) })
		a.Is(http.StatusOK, apierror.CodeOK)
		name, rest, _ := strings.Cut(a.Header.Get("Set-Cookie"), "=")
		value, attributes, _ := strings.Cut(rest, ";")
		httpapitest.Equal(t, "cookie", name+"=SECRET;"+attributes, want)
		b.Must("GET", "/v3/session", "")
		if len(s.Log.Matching(value)) > 0 {
			t.Error("the secret is logged")
		}
		var stored int
		if err := s.DB.NewRaw("SELECT count(*) FROM linkledger_durable.sessions AS s WHERE position(? in s::text) > 0", value).
			Scan(httpapitest.WithTimeout(t), &stored); err != nil || stored > 0 {
			t.Errorf("the secret is stored %d times, %v", stored, err)
		}
		for _, damaged := range []string{"", value[1:], value + "A", strings.Repeat("A", 43), value[:42] + "!", value[:42] + "'"} {
			a := httpapitest.Send(t, s.Server, "GET", "/v3/session", "", httpapitest.Header("Cookie", name+"="+damaged))
			a.Is(http.StatusBadRequest, apierror.CodeInvalidKey)
			a = httpapitest.Send(t, s.Server, "GET", "/v3/urls", "", httpapitest.Header("Cookie", name+"="+damaged))
			a.Is(http.StatusBadRequest, apierror.CodeInvalidKey)
		}
		twice := httpapitest.Send(t, s.Server, "GET", "/v3/session", "", httpapitest.Header("Cookie", name+"="+value+"; "+name+"="+value))
		twice.Is(http.StatusBadRequest, apierror.CodeInvalidKey) // one of them may come from another path
		other := map[string]string{"linkledger": "__Host-linkledger", "__Host-linkledger": "linkledger"}[name]
		httpapitest.Send(t, s.Server, "GET", "/v3/session", "", httpapitest.Header("Cookie", other+"="+value)).
			Is(http.StatusBadRequest, apierror.CodeInvalidKey)
	}
}
