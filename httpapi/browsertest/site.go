package browsertest

// This file signs people in.

import (
	"net/http"
	"testing"
	"time"

	"linkledger/httpapi/branchtest"
	"linkledger/httpapi/httpapitest"

	"github.com/google/uuid"

	"linkledger/commands/access"
	"linkledger/commands/domain"
	"linkledger/commands/people"
	"linkledger/httpapi"
	"linkledger/httpapi/console"
	"linkledger/httpapi/openid/openidtest"
	"linkledger/httpapi/signin"
	"linkledger/projections"
	"linkledger/queries"
	"linkledger/queries/accountlist"
	"linkledger/queries/cache"
)

// Started returns a browser with a new session.
func Started(t *testing.T, s *httpapitest.Stack, of accountlist.NewSession) *Browser {
	t.Helper()
	_, secret, err := s.DB.Keys.StartSession(t.Context(), of, s.Now())
	if err != nil {
		t.Error(err)
	}
	//nolint:gosec // a browser sends the name and the value alone
	cookie := &http.Cookie{Name: "linkledger", Value: secret}
	return &Browser{t, s.Server, map[string]*http.Cookie{cookie.Name: cookie}}
}

// ViewerOf returns the session of a new person who may only read the account of owner.
func (s *Site) ViewerOf(t *testing.T, owner *httpapitest.Client) accountlist.NewSession {
	t.Helper()
	_, viewer := s.Member(t, owner, "viewer", "viewer")
	user := uuid.MustParse(viewer)
	roles, err := queries.New(s.DB).Memberships(t.Context(), user)
	if err != nil || len(roles) != 1 {
		t.Fatal(roles, err)
	}
	return accountlist.NewSession{User: user, Account: roles[0].Account, MemberAt: roles[0].Changed}
}

// Site is a stack at which people sign in, with its issuer and a second node that gets no
// notifications.
type Site struct {
	*httpapitest.Stack
	Issuer *openidtest.Issuer
	Node   http.Handler
	People *people.People
}

// NewSite returns a site. groups gives roles to groups of the issuer, as --oidc-groups does.
func NewSite(t *testing.T, groups string, adjust ...func(*httpapi.Config)) *Site {
	t.Helper()
	roles, err := access.ParseGroupRoles(groups)
	if err != nil {
		t.Fatal(err)
	}
	s := &Site{Issuer: openidtest.New(t)}
	registered := s.Issuer.Client()
	registered.RedirectURLs = []string{"http://" + httpapitest.ShortHost + signin.CallbackPath}
	s.Issuer.Register(registered)
	var second httpapi.Config
	s.Stack = httpapitest.New(t, append(adjust, func(cfg *httpapi.Config) {
		cfg.SignIn = &httpapi.SignIn{
			Issuer: s.Issuer.URL, ClientID: registered.ID, ClientSecret: registered.Secret, GroupsClaim: "groups",
			Groups: roles, Secret: []byte("sixteen bytes or"),
		}
		s.Issuer.Clock(cfg.Now)
		for _, change := range adjust {
			change(cfg)
		}
		s.People, second = cfg.People, *cfg
	})...)
	branchtest.Watch(t, "owners", s.Server.Pages().Templates())
	second.Logins = cache.NewLogins(queries.New(s.DB))
	if s.Node, err = httpapi.New(second); err != nil {
		t.Fatal(err)
	}
	return s
}

// Browser returns a browser without cookies.
func (s *Site) Browser(t testing.TB) *Browser {
	t.Helper()
	return NewBrowser(t, s.Server)
}

// SignIn signs a person in and returns the browser and the id of the person.
func (s *Site) SignIn(t testing.TB, person openidtest.Person) (*Browser, string) {
	t.Helper()
	b := s.Browser(t)
	a := s.Finish(t, b, person)
	if a.Status != http.StatusSeeOther || a.Header.Get("Location") != "/console" {
		t.Fatalf("the callback answered %d %v %s", a.Status, a.Header, a.Body)
	}
	return b, httpapitest.Deref(b.Must("GET", "/v3/session", "").Session.User)
}

// Finish makes a browser sign in, and returns the answer of the callback.
func (s *Site) Finish(t testing.TB, b *Browser, person openidtest.Person) *httpapitest.Answer {
	t.Helper()
	s.Issuer.SignIn(person)
	begun := b.Call("GET", signin.BeginPath, "")
	if begun.Status != http.StatusSeeOther {
		t.Fatalf("the sign-in begins with %d %s", begun.Status, begun.Body)
	}
	return b.Call("GET", openidtest.Visit(t, nil, begun.Header.Get("Location")).RequestURI(), "")
}

// Member signs a person in and gives the person a role in the account of a client. It returns the
// browser and the id of the person.
func (s *Site) Member(t testing.TB, of *httpapitest.Client, subject, role string) (*Browser, string) {
	t.Helper()
	person := openidtest.Person{Subject: subject, Mail: subject + "@example.com", Name: "Name of " + subject}
	b, id := s.SignIn(t, person)
	of.Must("PUT", "/v3/members", `{"id":"`+id+`","role":"`+role+`"}`)
	b.Must("PATCH", "/v3/session", `{"account":"`+of.Username+`"}`)
	return b, id
}

// Erase erases a person, and waits until the read models show it.
func (s *Site) Erase(t *testing.T, id string) {
	t.Helper()
	erased, err := s.People.Erase(httpapitest.WithTimeout(t), domain.Request{Operator: true, Command: uuid.New()}, id)
	if err == nil {
		err = s.Waiter.Wait(httpapitest.WithTimeout(t), projections.Accounts, erased.Position.Commit)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// SignInLink returns the path of a one-time link that works for an hour.
func (s *Site) SignInLink(t *testing.T, of accountlist.NewSession) string {
	t.Helper()
	now := s.Now()
	secret, err := s.DB.Keys.AddSignInLink(t.Context(), of, now, now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return console.LinkPath + secret
}
