package signin_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/openid/openidtest"
	"linkledger/httpapi/signin"
	"linkledger/projections"
)

// TestSignIn signs in a person who is a member of no account, and then becomes one.
func TestSignIn(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	owner := s.Client(t, "acme")
	ada, id := s.SignIn(t, openidtest.Ada)
	session := ada.Must("GET", "/v3/session", "").Session
	if session.Account != nil || session.UserName != openidtest.Ada.Name || len(session.Accounts) > 0 ||
		len(session.Scopes) > 0 || session.Operator {
		t.Errorf("the session is %+v", session)
	}
	none := ada.Call("GET", "/v3/urls", "")
	none.Is(http.StatusForbidden, apierror.CodeAccessDenied)
	none.Has("member of no account")

	owner.Must("PUT", "/v3/members", `{"id":"`+id+`","role":"viewer"}`)
	ada.Call("PATCH", "/v3/session", `{"account":"other"}`).Is(http.StatusForbidden, apierror.CodeAccessDenied)
	session = ada.Must("PATCH", "/v3/session", `{"account":"acme"}`).Session
	if session.Account == nil || *session.Account != "acme" || *session.Role != "viewer" || session.Accounts[0].Role != "viewer" {
		t.Errorf("the moved session is %+v", session)
	}
	ada.Must("GET", "/v3/urls", "")
	if again, same := s.SignIn(t, openidtest.Ada); same != id {
		t.Errorf("the second time %s is %s", id, same)
	} else {
		again.Must("GET", "/v3/urls", "") // a member begins in the account
	}
}

// TestDetailsAreSealed checks that neither the log nor the tables have the details of a person in plain text, and that
// they cannot be read after an erasure.
func TestDetailsAreSealed(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	owner := s.Client(t, "acme")
	ada, id := s.Member(t, owner, "subject-of-ada", "editor")
	ada.Must("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"one"}]}`)
	var logged strings.Builder
	head, err := s.Store.Head(httpapitest.WithTimeout(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Store.ReadLog(httpapitest.WithTimeout(t), eventstore.Position{}, head, func(batch []eventstore.Recorded) error {
		for _, r := range batch {
			logged.WriteString(r.Stream + string(r.Data) + string(r.Metadata))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	var row string
	if err := s.DB.NewRaw("SELECT person::text FROM linkledger.people AS person").Scan(httpapitest.WithTimeout(t), &row); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"subject-of-ada", "ada@example", "Name of", s.Issuer.URL} {
		if strings.Contains(logged.String(), secret) || strings.Contains(row, secret) {
			t.Errorf("%q is stored in plain text", secret)
		}
	}
	wantActor := func(name string) {
		t.Helper()
		actor := owner.Must("GET", "/v3/urls/one/history", "").History.Events[1].Actor
		if actor.User != id || actor.UserName != name || actor.Via != "console" || actor.Key != "" {
			t.Errorf("the actor is %+v; want %q", actor, name)
		}
		call := owner.Must("GET", "/v3/activity?user="+id+"&via=console", "").Activity[0]
		if call.User == nil || *call.User != id || call.UserName != name || call.Via != "console" || call.URLs.Created != 1 {
			t.Errorf("the activity is %+v; want %q", call, name)
		}
	}
	wantActor("Name of subject-of-ada")
	owner.Must("DELETE", "/v3/members/"+id, "")
	wantActor("Name of subject-of-ada")
	s.Erase(t, id)
	call := owner.Must("GET", "/v3/activity?user="+id, "").Activity[0]
	httpapitest.Equal(t, "name", call.UserName, "erased")
	httpapitest.Equal(t, "calls by the API", len(owner.Must("GET", "/v3/activity?user="+id+"&via=api", "").Activity), 0)
	member, erasedID := s.Member(t, owner, "still-a-member", "viewer")
	s.Erase(t, erasedID)
	member.Ended()
	owner.Call("GET", "/v3/activity?user=x", "").Is(http.StatusBadRequest, apierror.CodeWrongInput)
	ada.Ended()
	owner.Call("PUT", "/v3/members", `{"id":"`+id+`","role":"viewer"}`).
		Is(http.StatusNotFound, apierror.CodeInvalidResource)
	_, anew := s.SignIn(t, openidtest.Person{Subject: "subject-of-ada", Name: "Ada again"})
	if anew == id {
		t.Error("an erased person signs in as before")
	}
}

// TestGroupsGiveRoles checks what the groups of a person make of them, at each sign-in anew.
func TestGroupsGiveRoles(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "staff=acme:viewer;engineers=acme:editor;engineers=labs:owner;lost=nowhere:owner;ops=operator")
	acme, labs := s.Client(t, "acme"), s.Client(t, "labs")
	roles := func(c *httpapitest.Client) string {
		t.Helper()
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
	person := openidtest.Ada // of staff and engineers
	first, id := s.SignIn(t, person)
	httpapitest.Equal(t, "roles in acme", roles(acme), "viewer staff")
	httpapitest.Equal(t, "roles in labs", roles(labs), "owner engineers")
	if session := first.Must("GET", "/v3/session", "").Session; session.Account != nil || len(session.Accounts) != 2 {
		t.Errorf("somebody with two accounts begins with %+v", session)
	}
	first.Must("PATCH", "/v3/session", `{"account":"acme"}`)

	person.Groups = []string{"engineers", "lost", "ops"}
	second, _ := s.SignIn(t, person)
	first.Ended() // the role in acme has changed
	httpapitest.Equal(t, "roles in acme", roles(acme), "editor engineers")
	if session := second.Must("GET", "/v3/session", "").Session; !session.Operator || *session.Account != "acme" {
		t.Errorf("the second session is %+v; want that of an operator in the account of the first", session)
	}
	acme.Must("PUT", "/v3/members", `{"id":"`+id+`","role":"auditor"}`)
	third, _ := s.SignIn(t, person)
	httpapitest.Equal(t, "roles in acme", roles(acme), "auditor by hand")
	third.Must("PATCH", "/v3/session", `{"account":"labs"}`)

	person.Groups = nil
	fourth, _ := s.SignIn(t, person)
	third.Ended()
	httpapitest.Equal(t, "roles in acme", roles(acme), "auditor by hand")
	httpapitest.Equal(t, "roles in labs", roles(labs), "")
	if session := fourth.Must("GET", "/v3/session", "").Session; session.Operator || *session.Account != "acme" {
		t.Errorf("without groups the session is %+v", session)
	}
	if len(s.Log.Matching("the account of a group does not exist")) == 0 {
		t.Error("the missing account of a group is not logged")
	}
}

// TestDamagedDetails writes details into the event store that cannot be opened, and checks that no list and no history
// fails.
func TestDamagedDetails(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	owner := s.Client(t, "acme")
	b, id := s.Member(t, owner, "ada", "editor")
	b.Must("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"one"}]}`)
	appended, err := s.Store.Append(httpapitest.WithTimeout(t), eventstore.Write{
		Stream: events.StreamUser + id, Expected: 0, Command: uuid.New(), Events: []events.Event{events.UserKnown{
			User: id, At: time.Now(), Sealed: &events.Sealed{Account: id, Box: []byte("damaged")},
		}},
	})
	if err == nil {
		err = s.Waiter.Wait(httpapitest.WithTimeout(t), projections.Accounts, appended.Position.Commit)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/v3/members", "/v3/activity", "/v3/sessions", "/v3/urls/one/history"} {
		owner.Must("GET", path, "")
	}
	httpapitest.Equal(t, "name", b.Must("GET", "/v3/session", "").Session.UserName, "")
	s.Erase(t, id)
	b.Ended()
}

// TestSignInsAreThrottled checks that an address cannot make the service ask the issuer all the time.
func TestSignInsAreThrottled(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	path := signin.CallbackPath + "?code=x&state=y"
	for range 20 {
		s.Browser(t).Call("GET", path, "").Is(http.StatusBadRequest, apierror.CodeInvalidKey)
	}
	s.Browser(t).Call("GET", path, "").Is(http.StatusTooManyRequests, apierror.CodeCallLimit)
	s.Browser(t).Call("GET", path, "", httpapitest.From("198.51.100.1:1", "x")).Is(http.StatusBadRequest, apierror.CodeInvalidKey)
	if n := len(s.Log.Matching("sign-in refused")); n == 0 || n > 21 {
		t.Errorf("%d refused sign-ins are logged", n)
	}
	if a := s.Browser(t).Call("HEAD", path, "", httpapitest.From("198.51.100.2:1", "x")); a.Status != http.StatusMethodNotAllowed {
		t.Errorf("HEAD answered %d", a.Status)
	}
}

// TestRefusedSignIns checks what a person sees whose sign-in fails, and that no session starts.
func TestRefusedSignIns(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	s.Client(t, "acme")
	for name, tc := range map[string]struct {
		prepare func()
		status  int
		code    apierror.Code
	}{
		"refused by the issuer": {func() { s.Issuer.Refuse("access_denied") }, http.StatusForbidden, apierror.CodeAccessDenied},
		"expired token":         {func() { s.Issuer.Misbehave(openidtest.Expired) }, http.StatusBadRequest, apierror.CodeInvalidKey},
		"unsigned token":        {func() { s.Issuer.Misbehave(openidtest.Unsigned) }, http.StatusBadRequest, apierror.CodeInvalidKey},
		"broken issuer":         {func() { s.Issuer.Misbehave(openidtest.TokenFails) }, http.StatusServiceUnavailable, apierror.CodeUnknown},
	} {
		b := s.Browser(t)
		tc.prepare()
		a := s.Finish(t, b, openidtest.Ada)
		if a.Status != tc.status || a.Code() != tc.code || len(b.Cookies) > 0 {
			t.Errorf("%s: %d %+v, cookies %v", name, a.Status, a.Error, b.Cookies)
		}
		s.Issuer.Refuse("")
		s.Issuer.Misbehave(0)
	}
	back := s.Browser(t).Call("GET", signin.CallbackPath+"?code=x&state=y", "")
	back.Is(http.StatusBadRequest, apierror.CodeInvalidKey)
	without := httpapitest.New(t)
	if a := httpapitest.Send(t, without.Server, "GET", signin.BeginPath, ""); a.Status != http.StatusNotFound {
		t.Errorf("without an issuer the sign-in answers %d", a.Status)
	}
}

// TestSignInsEndInTime finishes a sign-in at the other node, in time and later, with the cookie that a browser should
// have dropped.
func TestSignInsEndInTime(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	for passed, want := range map[time.Duration]int{10 * time.Minute: http.StatusSeeOther, 10*time.Minute + time.Second: http.StatusBadRequest} {
		b := s.Browser(t)
		begun := b.Call("GET", signin.BeginPath, "")
		back := openidtest.Visit(t, nil, begun.Header.Get("Location")).RequestURI()
		s.SetTime(t, s.Now().Add(passed).Format(time.RFC3339))
		if a := b.On(s.Node).Call("GET", back, ""); a.Status != want {
			t.Errorf("after %s the callback answers %d %s; want %d", passed, a.Status, a.Body, want)
		}
	}
}
