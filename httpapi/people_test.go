package httpapi

import (
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/access"
	"linkledger/commands/domain"
	"linkledger/commands/people"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/openid/openidtest"
	"linkledger/httpapi/signin"
	"linkledger/projections"
	"linkledger/queries"
	"linkledger/queries/cache"
)

// site is a stack at which people sign in, with its issuer and a second node that gets no
// notifications.
type site struct {
	*stack
	issuer *openidtest.Issuer
	node   http.Handler
	people *people.People
}

// newSite returns a site where the members of groups are what groups says.
func newSite(t *testing.T, groups string, adjust ...func(*Config)) *site {
	t.Helper()
	roles, err := access.ParseGroupRoles(groups)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{issuer: openidtest.New(t)}
	registered := s.issuer.Client()
	registered.RedirectURLs = []string{"http://" + shortHost + signin.CallbackPath}
	s.issuer.Register(registered)
	var second Config
	s.stack = newStack(t, append(adjust, func(cfg *Config) {
		cfg.SignIn = &SignIn{
			Issuer: s.issuer.URL, ClientID: registered.ID, ClientSecret: registered.Secret, GroupsClaim: "groups",
			Groups: roles, Secret: []byte("sixteen bytes or"),
		}
		s.issuer.Clock(cfg.Now)
		for _, change := range adjust {
			change(cfg)
		}
		s.people, second = cfg.People, *cfg
	})...)
	pageBranches.watchHandler(t, s.handler)
	second.Logins = cache.NewLogins(queries.New(s.db))
	if s.node, err = New(second); err != nil {
		t.Fatal(err)
	}
	return s
}

// browser keeps cookies.
type browser struct {
	t       testing.TB
	handler http.Handler
	cookies map[string]*http.Cookie
}

func (s *site) browser(t testing.TB) *browser {
	t.Helper()
	return &browser{t, s.handler, make(map[string]*http.Cookie)}
}

// copy returns another browser with the same cookies.
func (b *browser) copy() *browser { return &browser{b.t, b.handler, maps.Clone(b.cookies)} }

// on returns the browser at another node, with the same cookies.
func (b *browser) on(node http.Handler) *browser { return &browser{b.t, node, b.cookies} }

func (b *browser) call(method, path, body string, changes ...with) *answer {
	b.t.Helper()
	changes = append([]with{header("Content-Type", "application/json"), header("Accept", "application/json"), func(r *http.Request) {
		for _, cookie := range b.cookies {
			r.AddCookie(cookie)
		}
	}}, changes...)
	a := send(b.t, b.handler, method, path, body, changes...)
	for _, cookie := range (&http.Response{Header: a.header}).Cookies() {
		if cookie.MaxAge < 0 {
			delete(b.cookies, cookie.Name)
		} else {
			b.cookies[cookie.Name] = cookie
		}
	}
	return a
}

func (b *browser) must(method, path, body string) *answer {
	b.t.Helper()
	a := b.call(method, path, body)
	a.is(http.StatusOK, apierror.CodeOK)
	return a
}

// ended checks that the browser has no session any more.
func (b *browser) ended() {
	b.t.Helper()
	b.call("GET", "/v3/session", "").is(http.StatusBadRequest, apierror.CodeInvalidKey)
}

// signIn signs a person in and returns the browser and the id of the person.
func (s *site) signIn(t testing.TB, person openidtest.Person) (*browser, string) {
	t.Helper()
	b := s.browser(t)
	a := s.finish(t, b, person)
	if a.status != http.StatusSeeOther || a.header.Get("Location") != "/console" {
		t.Fatalf("the callback answered %d %v %s", a.status, a.header, a.body)
	}
	return b, deref(b.must("GET", "/v3/session", "").Session.User)
}

// finish makes a browser sign in, and returns the answer of the callback.
func (s *site) finish(t testing.TB, b *browser, person openidtest.Person) *answer {
	t.Helper()
	s.issuer.SignIn(person)
	begun := b.call("GET", signin.BeginPath, "")
	if begun.status != http.StatusSeeOther {
		t.Fatalf("the sign-in begins with %d %s", begun.status, begun.body)
	}
	return b.call("GET", openidtest.Visit(t, nil, begun.header.Get("Location")).RequestURI(), "")
}

// member signs a person in who has a role in the account of a client.
func (s *site) member(t testing.TB, of *client, subject, role string) (*browser, string) {
	t.Helper()
	person := openidtest.Person{Subject: subject, Mail: subject + "@example.com", Name: "Name of " + subject}
	b, id := s.signIn(t, person)
	of.must("PUT", "/v3/members", `{"id":"`+id+`","role":"`+role+`"}`)
	b.must("PATCH", "/v3/session", `{"account":"`+of.username+`"}`)
	return b, id
}

// TestSignIn signs in somebody who is a member of no account, and then becomes one.
func TestSignIn(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	owner := s.client(t, "acme")
	ada, id := s.signIn(t, openidtest.Ada)
	session := ada.must("GET", "/v3/session", "").Session
	if session.Account != nil || session.UserName != openidtest.Ada.Name || len(session.Accounts) > 0 ||
		len(session.Scopes) > 0 || session.Operator {
		t.Errorf("the session is %+v", session)
	}
	none := ada.call("GET", "/v3/urls", "")
	none.is(http.StatusForbidden, apierror.CodeAccessDenied)
	none.has("member of no account")

	owner.call("PUT", "/v3/members", `{"id":"`+uuid.NewString()+`","role":"viewer"}`).
		is(http.StatusNotFound, apierror.CodeInvalidResource)
	owner.call("PUT", "/v3/members", `{"id":"`+id+`","role":"king"}`).is(http.StatusBadRequest, apierror.CodeWrongInput)
	owner.call("PUT", "/v3/members", `{"role":"viewer"}`).is(http.StatusBadRequest, apierror.CodeMissingInput)
	owner.call("PUT", "/v3/members", `{"id":"ada","role":"viewer"}`).is(http.StatusBadRequest, apierror.CodeWrongInput)
	owner.call("PUT", "/v3/members", `{"id":"`+id+`"}`).is(http.StatusBadRequest, apierror.CodeMissingInput)
	set := owner.must("PUT", "/v3/members", `{"id":"`+strings.ToUpper(id)+`","role":"viewer"}`).Members
	if len(set) != 1 || set[0].ID != id || set[0].Name != openidtest.Ada.Name || set[0].Mail != openidtest.Ada.Mail ||
		set[0].Role != "viewer" || set[0].Group != nil {
		t.Errorf("the member is %+v", set)
	}
	ada.call("PATCH", "/v3/session", `{"account":"other"}`).is(http.StatusForbidden, apierror.CodeAccessDenied)
	session = ada.must("PATCH", "/v3/session", `{"account":"acme"}`).Session
	if session.Account == nil || *session.Account != "acme" || *session.Role != "viewer" || session.Accounts[0].Role != "viewer" {
		t.Errorf("the moved session is %+v", session)
	}
	ada.must("GET", "/v3/urls", "")
	if again, same := s.signIn(t, openidtest.Ada); same != id {
		t.Errorf("the second time %s is %s", id, same)
	} else {
		again.must("GET", "/v3/urls", "") // a member begins in the account
	}
	owner.must("DELETE", "/v3/members/"+id, "")
	owner.call("DELETE", "/v3/members/"+id, "").is(http.StatusNotFound, apierror.CodeInvalidResource)
	ada.ended()
	equal(t, "members", len(owner.must("GET", "/v3/members", "").Members), 0)
}

// erase erases a person, and waits until the read models show it.
func (s *site) erase(t *testing.T, id string) {
	t.Helper()
	erased, err := s.people.Erase(withTimeout(t), domain.Request{Operator: true, Command: uuid.New()}, id)
	if err == nil {
		err = s.waiter.Wait(withTimeout(t), projections.Accounts, erased.Position.Commit)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestDetailsAreSealed checks that neither the log nor the tables have the details of a person in
// plain text, and that nobody reads them after an erasure.
func TestDetailsAreSealed(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	owner := s.client(t, "acme")
	ada, id := s.member(t, owner, "subject-of-ada", "editor")
	ada.must("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"one"}]}`)
	var logged strings.Builder
	head, err := s.store.Head(withTimeout(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.store.ReadLog(withTimeout(t), eventstore.Position{}, head, func(batch []eventstore.Recorded) error {
		for _, r := range batch {
			logged.WriteString(r.Stream + string(r.Data) + string(r.Metadata))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	var row string
	if err := s.db.NewRaw("SELECT person::text FROM linkledger.people AS person").Scan(withTimeout(t), &row); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"subject-of-ada", "ada@example", "Name of", s.issuer.URL} {
		if strings.Contains(logged.String(), secret) || strings.Contains(row, secret) {
			t.Errorf("%q is stored in plain text", secret)
		}
	}
	wantActor := func(name string) {
		t.Helper()
		actor := owner.must("GET", "/v3/urls/one/history", "").History.Events[1].Actor
		if actor.User != id || actor.UserName != name || actor.Via != "console" || actor.Key != "" {
			t.Errorf("the actor is %+v; want %q", actor, name)
		}
		call := owner.must("GET", "/v3/activity?user="+id+"&via=console", "").Activity[0]
		if call.User == nil || *call.User != id || call.UserName != name || call.Via != "console" || call.URLs.Created != 1 {
			t.Errorf("the activity is %+v; want %q", call, name)
		}
	}
	wantActor("Name of subject-of-ada")
	owner.must("DELETE", "/v3/members/"+id, "")
	wantActor("Name of subject-of-ada")
	s.erase(t, id)
	call := owner.must("GET", "/v3/activity?user="+id, "").Activity[0]
	equal(t, "name", call.UserName, "erased")
	equal(t, "calls by the API", len(owner.must("GET", "/v3/activity?user="+id+"&via=api", "").Activity), 0)
	member, erasedID := s.member(t, owner, "still-a-member", "viewer")
	s.erase(t, erasedID)
	member.ended()
	owner.call("GET", "/v3/activity?user=x", "").is(http.StatusBadRequest, apierror.CodeWrongInput)
	ada.ended()
	owner.call("PUT", "/v3/members", `{"id":"`+id+`","role":"viewer"}`).
		is(http.StatusNotFound, apierror.CodeInvalidResource)
	_, anew := s.signIn(t, openidtest.Person{Subject: "subject-of-ada", Name: "Ada again"})
	if anew == id {
		t.Error("an erased person signs in as before")
	}
}

// TestGroupsGiveRoles checks what the groups of a person make of them, at each sign-in anew.
func TestGroupsGiveRoles(t *testing.T) {
	t.Parallel()
	s := newSite(t, "staff=acme:viewer;engineers=acme:editor;engineers=labs:owner;lost=nowhere:owner;ops=operator")
	acme, labs := s.client(t, "acme"), s.client(t, "labs")
	roles := func(c *client) string {
		t.Helper()
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
	person := openidtest.Ada // of staff and engineers
	first, id := s.signIn(t, person)
	equal(t, "roles in acme", roles(acme), "viewer staff")
	equal(t, "roles in labs", roles(labs), "owner engineers")
	if session := first.must("GET", "/v3/session", "").Session; session.Account != nil || len(session.Accounts) != 2 {
		t.Errorf("somebody with two accounts begins with %+v", session)
	}
	first.must("PATCH", "/v3/session", `{"account":"acme"}`)

	person.Groups = []string{"engineers", "lost", "ops"}
	second, _ := s.signIn(t, person)
	first.ended() // the role in acme has changed
	equal(t, "roles in acme", roles(acme), "editor engineers")
	if session := second.must("GET", "/v3/session", "").Session; !session.Operator || *session.Account != "acme" {
		t.Errorf("the second session is %+v; want that of an operator in the account of the first", session)
	}
	acme.must("PUT", "/v3/members", `{"id":"`+id+`","role":"auditor"}`)
	third, _ := s.signIn(t, person)
	equal(t, "roles in acme", roles(acme), "auditor by hand")
	third.must("PATCH", "/v3/session", `{"account":"labs"}`)

	person.Groups = nil
	fourth, _ := s.signIn(t, person)
	third.ended()
	equal(t, "roles in acme", roles(acme), "auditor by hand")
	equal(t, "roles in labs", roles(labs), "")
	if session := fourth.must("GET", "/v3/session", "").Session; session.Operator || *session.Account != "acme" {
		t.Errorf("without groups the session is %+v", session)
	}
	if len(s.log.matching("the account of a group does not exist")) == 0 {
		t.Error("the missing account of a group is not logged")
	}
}

// TestRepeatedMemberCalls checks that a late repeat of a call does not bring back a removed member,
// and does not remove one who was added again.
func TestRepeatedMemberCalls(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	owner := s.client(t, "acme")
	_, id := s.signIn(t, openidtest.Ada)
	first, second := header("Idempotency-Key", "first"), header("Idempotency-Key", "second")
	role, path := `{"id":"`+id+`","role":"owner"}`, "/v3/members/"+id
	owner.call("DELETE", path, "", header("Idempotency-Key", "early")).is(http.StatusNotFound, apierror.CodeInvalidResource)
	owner.must("PUT", "/v3/members", role, first)
	owner.must("DELETE", path, "", second)
	owner.must("PUT", "/v3/members", role, first)
	equal(t, "members after a repeat", len(owner.must("GET", "/v3/members", "").Members), 0)
	owner.must("PUT", "/v3/members", role)
	owner.must("DELETE", path, "", second)
	equal(t, "members after another repeat", len(owner.must("GET", "/v3/members", "").Members), 1)
}

// TestDamagedDetails checks that details that somebody wrote into the event store by hand, and that
// cannot be opened, make no list and no history fail.
func TestDamagedDetails(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	owner := s.client(t, "acme")
	b, id := s.member(t, owner, "ada", "editor")
	b.must("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"one"}]}`)
	appended, err := s.store.Append(withTimeout(t), eventstore.Write{
		Stream: events.StreamUser + id, Expected: 0, Command: uuid.New(), Events: []events.Event{events.UserKnown{
			User: id, At: time.Now(), Sealed: &events.Sealed{Account: id, Box: []byte("damaged")},
		}},
	})
	if err == nil {
		err = s.waiter.Wait(withTimeout(t), projections.Accounts, appended.Position.Commit)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/v3/members", "/v3/activity", "/v3/sessions", "/v3/urls/one/history"} {
		owner.must("GET", path, "")
	}
	equal(t, "name", b.must("GET", "/v3/session", "").Session.UserName, "")
	s.erase(t, id)
	b.ended()
}

// TestSignInsAreThrottled checks that an address cannot make the service ask the issuer all the time.
func TestSignInsAreThrottled(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	path := signin.CallbackPath + "?code=x&state=y"
	for range 20 {
		s.browser(t).call("GET", path, "").is(http.StatusBadRequest, apierror.CodeInvalidKey)
	}
	s.browser(t).call("GET", path, "").is(http.StatusTooManyRequests, apierror.CodeCallLimit)
	s.browser(t).call("GET", path, "", from("198.51.100.1:1", "x")).is(http.StatusBadRequest, apierror.CodeInvalidKey)
	if n := len(s.log.matching("sign-in refused")); n == 0 || n > 21 {
		t.Errorf("%d refused sign-ins are logged", n)
	}
	if a := s.browser(t).call("HEAD", path, "", from("198.51.100.2:1", "x")); a.status != http.StatusMethodNotAllowed {
		t.Errorf("HEAD answered %d", a.status)
	}
}

// TestMembersCannotGiveMoreThanTheyHave sets members with keys and persons that may do less than
// the roles.
func TestMembersCannotGiveMoreThanTheyHave(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	owner := s.client(t, "acme")
	boss, bossID := s.member(t, owner, "boss", "owner")
	editor, editorID := s.member(t, owner, "editor", "editor")
	_, id := s.signIn(t, openidtest.Ada)
	refused := func(a *answer) {
		t.Helper()
		a.is(http.StatusForbidden, apierror.CodeAccessDenied)
	}
	role := func(id, role string) string { return `{"id":"` + id + `","role":"` + role + `"}` }
	refused(editor.call("PUT", "/v3/members", role(id, "viewer")))
	refused(editor.call("DELETE", "/v3/members/"+bossID, ""))
	only := owner.withKey(`"scopes":["members"]`)
	refused(only.call("PUT", "/v3/members", role(id, "viewer")))
	readers := owner.withKey(`"scopes":["members","links:read","stats:read"]`)
	refused(readers.call("PUT", "/v3/members", role(id, "editor")))
	refused(readers.call("PUT", "/v3/members", role(id, "owner")))
	readers.must("PUT", "/v3/members", role(id, "viewer"))
	refused(readers.call("PUT", "/v3/members", role(editorID, "viewer"))) // takes more away than it has
	refused(readers.call("DELETE", "/v3/members/"+bossID, ""))
	readers.must("DELETE", "/v3/members/"+id, "")
	ending := owner.withKey(`"expiration_date":"2026-12-31"`)
	refused(ending.call("PUT", "/v3/members", role(id, "viewer"))) // a role does not end
	boss.must("PUT", "/v3/members", role(id, "owner"))
	boss.must("DELETE", "/v3/members/"+editorID, "")
	// A key that a person makes lies within the role.
	boss.must("POST", "/v3/keys", `{"name":"of the boss"}`)
	equal(t, "members", len(owner.must("GET", "/v3/members", "").Members), 2)
}
