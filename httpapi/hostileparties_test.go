package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/uuid"

	"linkledger/commands/access"
	"linkledger/commands/accounts"
	"linkledger/commands/domain"
	"linkledger/events"
	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/openid/openidtest"
	"linkledger/internal/soak"
)

// TestWhateverVisitorsSendIsApplied checks that no header of a visit is a fault or an event that a
// projection cannot apply, and that the visits count.
func TestWhateverVisitorsSendIsApplied(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	c.Create(`"long_url":"https://example.com/","custom_hash":"one"`)
	c.Create(`"long_url":"https://example.com/","custom_hash":"few","max_clicks":1000000`)
	c.Create(`"long_url":"https://example.com/","custom_hash":"bots"`)
	visits := int64(0)
	for _, name := range []string{
		"Referer", "User-Agent", "X-Forwarded-For", "X-Request-Id", "traceparent", "tracestate", "Accept-Language", "Cookie",
		"Sec-Ch-Ua", "Sec-Ch-Ua-Platform", "Sec-Ch-Ua-Mobile",
	} {
		for i, value := range hostileStrings("https://a.example/") {
			if i%soak.N(11, 1) != 0 && i > 30 {
				continue
			}
			hash := []string{"one", "few"}[i%2]
			if name == "User-Agent" { // such as the user agents of bots, whose visits do not count
				hash = "bots"
			} else {
				visits++
			}
			a := s.Visit(t, "GET", "/"+hash, func(r *http.Request) { r.Header[http.CanonicalHeaderKey(name)] = []string{value} })
			if a.Status != http.StatusFound {
				t.Errorf("a visit with %s %.60q is answered %d", name, value, a.Status)
			}
		}
	}
	verified(t, s)
	httpapitest.Equal(t, "clicks", c.Read("one").TotalClicks+c.Read("few").TotalClicks, visits)
}

// TestWhateverIssuersSayIsApplied checks that no claim of an issuer is a fault or an event that a
// projection cannot apply.
func TestWhateverIssuersSayIsApplied(t *testing.T) {
	t.Parallel()
	const group = "g\u202e\u2028💩"
	s := browsertest.NewSite(t, group+"=acme:editor")
	s.Client(t, "acme")
	for i, text := range hostileTexts[:soak.N(12, len(hostileTexts))] {
		for j, person := range []openidtest.Person{
			{Subject: fmt.Sprint("s", i), Name: text, Mail: text, Groups: []string{group, text}},
			{Subject: text, Name: "Ada", Groups: []string{group}},
			{Subject: fmt.Sprint("s", i), Claims: map[string]any{"name": []string{text}, "groups": text, "email": 1}},
		} {
			b := s.Browser(t)
			b.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				r.RemoteAddr = fmt.Sprintf("192.0.%d.%d:1", j, i) // sign-ins of an address are throttled
				s.Server.ServeHTTP(w, r)
			})
			if a := s.Finish(t, b, person); a.Status >= http.StatusInternalServerError || a.Status == http.StatusTooManyRequests {
				t.Errorf("a sign-in as %q is answered %d %s", person, a.Status, a.Body)
			}
		}
	}
	verified(t, s.Stack)
}

// TestWhateverOperatorsSayIsApplied checks that commands on accounts refuse a text or make an event
// that all projections can apply.
func TestWhateverOperatorsSayIsApplied(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	acme := s.Client(t, "acme")
	person, err := s.People.Known(t.Context(), operating(), events.Details{Issuer: "https://i.example", Subject: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	said := func(what, text string, err error) {
		t.Helper()
		if err != nil && domain.KindOf(err) == 0 {
			t.Errorf("%s %.60q: %v", what, text, err)
		}
	}
	for i, text := range append(hostileStrings("a"), hostileDates...) {
		if i%soak.N(11, 1) != 0 && i > 30 {
			continue
		}
		ctx := t.Context()
		_, err := s.Accounts.Open(ctx, operating(), text, "free")
		said("user name", text, err)
		_, err = s.Accounts.Open(ctx, operating(), fmt.Sprint("with-plan-", i), text)
		said("plan", text, err)
		_, err = s.Accounts.Edit(ctx, operating(), "acme", accounts.Change{Plan: &text})
		said("another plan", text, err)
		_, err = s.Accounts.Edit(ctx, operating(), "acme", accounts.Change{ExpirationDate: &text})
		said("last day", text, err)
		opened, err := s.Accounts.Open(ctx, operating(), fmt.Sprint("with-keys-", i), "free")
		if err != nil {
			t.Fatal(err)
		}
		for what, terms := range map[string]events.KeyTerms{
			"name": {Name: text}, "tags": {Tags: text}, "scopes": {Scopes: []string{text}},
			"networks": {Networks: []string{text}}, "expires": {Expires: text},
		} {
			_, err := s.Accounts.AddKey(ctx, operating(), opened.Account.ID, terms)
			said(what+" of a key", text, err)
		}
		_, err = s.Accounts.SetGroupRole(ctx, operating(), acme.ID, accounts.Member{
			User: person.Person.ID, Role: access.Editor, Group: text,
		})
		said("group", text, err)
		_, err = s.People.Known(ctx, operating(), events.Details{Issuer: text, Subject: fmt.Sprint("s", i), Name: "Ada"})
		said("issuer", text, err)
	}
	verified(t, s.Stack)
}

// operating returns a new request of an operator.
func operating() domain.Request {
	return domain.Request{Operator: true, Command: uuid.New(), ID: uuid.NewString()}
}
