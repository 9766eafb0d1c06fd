package httpapi

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/httpapi/console"
	"linkledger/queries"
)

// signInLink returns the path of a one-time link that works for an hour.
func (s *site) signInLink(t *testing.T, of queries.NewSession) string {
	t.Helper()
	now := *s.now.Load()
	secret, err := s.db.Keys.AddSignInLink(t.Context(), of, now, now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return console.LinkPath + secret
}

// TestSignInLink signs in by a one-time link, which works once, within its time, and only from its own page.
func TestSignInLink(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	owner := s.client(t, "acme")
	key := owner.must("GET", "/v3/keys", "").Keys[0]
	of := queries.NewSession{Account: uuid.MustParse(owner.id), Key: key.ID}
	b, link := s.browser(t), s.signInLink(t, of)
	for range 2 { // to look at the page does not use the link
		b.shows(link, "It works once", `<form method="post">`)
	}
	foreign := b.call("POST", link, "", header("Origin", "https://evil.example"), header("Sec-Fetch-Site", "cross-site"))
	if foreign.status != http.StatusForbidden {
		t.Errorf("from another origin: %d", foreign.status)
	}
	b.leads(link, nil, "/console")
	b.shows("/console/keys", key.ID)
	if session := b.must("GET", "/v3/session", "").Session; *session.Key != key.ID || session.Operator {
		t.Errorf("signed in as %+v", session)
	}
	refuses := func(what, link string) {
		t.Helper()
		a := s.browser(t).post(link, nil)
		if a.status != http.StatusForbidden || !strings.Contains(a.body, "was used before or has expired") ||
			len(a.header["Set-Cookie"]) > 0 {
			t.Errorf("%s: %d %v\n%s", what, a.status, a.header, a.body)
		}
	}
	refuses("a used link", link)
	refuses("another secret", console.LinkPath+strings.Repeat("A", 43))
	refuses("no secret", console.LinkPath+"x")
	late := s.signInLink(t, of)
	s.at(t, s.now.Load().Add(time.Hour).Format(time.RFC3339))
	refuses("an old link", late)

	operator := s.browser(t)
	operator.leads(s.signInLink(t, queries.NewSession{Operator: true}), nil, "/console")
	if session := operator.must("GET", "/v3/session", "").Session; !session.Operator || session.Account != nil {
		t.Errorf("an operator signed in as %+v", session)
	}
}

// TestSignInLinkIsUsedOnce lets several browsers on two nodes use one link at once.
func TestSignInLinkIsUsedOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	link := s.signInLink(t, queries.NewSession{Operator: true})
	var signedIn atomic.Int32
	var all sync.WaitGroup
	for i := range 16 {
		b := s.browser(t)
		if i%2 == 1 {
			b = b.on(s.node)
		}
		all.Go(func() {
			if b.post(link, nil).status == http.StatusSeeOther {
				signedIn.Add(1)
			}
		})
	}
	all.Wait()
	if n := signedIn.Load(); n != 1 {
		t.Errorf("%d browsers are signed in, want 1", n)
	}
}
