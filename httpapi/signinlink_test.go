package httpapi

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/console"
	"linkledger/httpapi/login"
	"linkledger/httpapi/openid/openidtest"
	"linkledger/httpapi/signin"
	"linkledger/internal/operators"
	"linkledger/projections/engine"
	"linkledger/queries/accountlist"
)

// signInLink returns the path of a one-time link that works for an hour.
func (s *site) signInLink(t *testing.T, of accountlist.NewSession) string {
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
	of := accountlist.NewSession{Account: uuid.MustParse(owner.id), Key: key.ID}
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
		b := s.browser(t)
		a := b.sends(link, nil)
		if !strings.Contains(a.body, "was used before or has expired") || b.cookies["linkledger"] != nil {
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
	operator.leads(s.signInLink(t, accountlist.NewSession{Operator: true}), nil, "/console")
	if session := operator.must("GET", "/v3/session", "").Session; !session.Operator || session.Account != nil {
		t.Errorf("an operator signed in as %+v", session)
	}
}

// TestSignInLinkIsUsedOnce lets several browsers on two nodes use one link at once.
func TestSignInLinkIsUsedOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	link := s.signInLink(t, accountlist.NewSession{Operator: true})
	var signedIn atomic.Int32
	var all sync.WaitGroup
	for i := range 16 {
		b := s.browser(t)
		if i%2 == 1 {
			b = b.on(s.node)
		}
		all.Go(func() {
			if b.post(link, nil).header.Get("Location") == "/console" {
				signedIn.Add(1)
			}
		})
	}
	all.Wait()
	if n := signedIn.Load(); n != 1 {
		t.Errorf("%d browsers are signed in, want 1", n)
	}
}

// TestGuessedLinksAreThrottled guesses one-time links, at both consoles. They are counted, logged and throttled with
// wrong API keys, and the right link works nevertheless.
func TestGuessedLinksAreThrottled(t *testing.T) {
	t.Parallel()
	var counts counter
	s := newSite(t, "", func(cfg *Config) { cfg.LoginRefused = counts.add })
	links := map[string]http.Handler{"owners": s.handler, "operators": s.operators(t, engine.Config{}, testTimeout, func(cfg *operators.Config) {
		cfg.Sessions.Guard = login.New(login.Config{
			Refused: counts.add, Now: cfg.Sessions.Now, Logger: slog.New(slog.NewTextHandler(s.log, nil)),
		})
	})}
	guess := func(h http.Handler, i int, address string) (reason string) {
		secret := strings.Repeat("A", 41) + fmt.Sprintf("%02d", i)
		if i%2 == 0 {
			secret = "x" // no link has such a secret
		}
		b := &browser{t, h, make(map[string]*http.Cookie)}
		shown := b.follow(b.call("POST", console.LinkPath+secret, "", from(address, "x")))
		reason, _, _ = strings.Cut(after(shown.body, `role="alert">`), "</p>")
		return strings.ToLower(reason)
	}
	for name, h := range links {
		for i := range loginsWithReason {
			if reason := guess(h, i, "192.0.2.7:1"); !strings.Contains(reason, "link") {
				t.Fatalf("guess %d at the console of %s: %q", i, name, reason)
			}
		}
		if reason := guess(h, 1, "192.0.2.7:1"); !strings.Contains(reason, "too many bad logins") {
			t.Errorf("one more at the console of %s: %q", name, reason)
		}
		if reason := guess(h, 1, "192.0.2.8:1"); !strings.Contains(reason, "link") {
			t.Errorf("somebody else is throttled: %q", reason)
		}
		b := &browser{t, h, make(map[string]*http.Cookie)}
		a := b.call("POST", s.signInLink(t, accountlist.NewSession{Operator: true}), "", from("192.0.2.7:1", "x"))
		if a.status != http.StatusSeeOther || len(b.cookies) != 1 {
			t.Errorf("the right link at the console of %s: %d", name, a.status)
		}
	}
	s.stranger(t, "acme").call("GET", "/v3/account", "", from("192.0.2.7:1", "x")).
		is(http.StatusTooManyRequests, apierror.CodeCallLimit) // guesses of links count as those of keys
	equal(t, "refused links", counts.of("bad_link"), 2*(loginsWithReason+1))
	equal(t, "throttled", counts.of("throttled"), 3)
	for _, address := range []string{"192.0.2.7", "192.0.2.8"} {
		if len(s.log.matching("login refused", "reason=bad_link", "address="+address)) == 0 {
			t.Errorf("the guesses from %s are not logged", address)
		}
	}
	if len(s.log.matching(strings.Repeat("A", 41))) > 0 {
		t.Error("the log has the secret of a link")
	}
}

// counter counts refused logins by their reason.
type counter struct {
	mu     sync.Mutex
	counts map[string]int
}

func (c *counter) add(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = make(map[string]int)
	}
	c.counts[reason]++
}

func (c *counter) of(reason string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[reason]
}

// TestOtherSitesCannotSignIn follows links of other sites to the sign-in, with and without a session. They lead to the
// page that asks, and change nothing.
func TestOtherSitesCannotSignIn(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	b, _ := s.signIn(t, openidtest.Ada)
	before := b.must("GET", "/v3/session", "").Session.ID
	for back, want := range map[string]string{
		"":                              "/console/sign-in?return=%2Fconsole",
		"?return=/console/keys%3Fa%3Db": "/console/sign-in?return=%2Fconsole%2Fkeys%3Fa%3Db",
		"?return=//evil.example":        "/console/sign-in?return=%2Fconsole",
	} {
		for _, site := range []string{"cross-site", "same-site"} {
			for _, method := range []string{"GET", "HEAD"} {
				a := b.call(method, signin.BeginPath+back, "", header("Sec-Fetch-Site", site))
				if a.status != http.StatusSeeOther || a.header.Get("Location") != want || len(a.header["Set-Cookie"]) > 0 {
					t.Errorf("%s %s from a %s page: %d %v; want %s", method, back, site, a.status, a.header, want)
				}
			}
		}
	}
	b.shows("/console/sign-in?return=%2Fconsole%2Fkeys", "/console/openid?return=%2Fconsole%2Fkeys")
	equal(t, "session", b.must("GET", "/v3/session", "").Session.ID, before)
	for _, site := range []string{"same-origin", "none"} {
		a := b.call("GET", signin.BeginPath, "", header("Sec-Fetch-Site", site))
		if a.status != http.StatusSeeOther || !strings.HasPrefix(a.header.Get("Location"), s.issuer.URL) {
			t.Errorf("%s: %d %q", site, a.status, a.header.Get("Location"))
		}
	}
}

// TestSignInsEndInTime finishes a sign-in at the other node, in time and later, with the cookie that a browser should
// have dropped.
func TestSignInsEndInTime(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	for passed, want := range map[time.Duration]int{10 * time.Minute: http.StatusSeeOther, 10*time.Minute + time.Second: http.StatusBadRequest} {
		b := s.browser(t)
		begun := b.call("GET", signin.BeginPath, "")
		back := openidtest.Visit(t, nil, begun.header.Get("Location")).RequestURI()
		s.at(t, s.now.Load().Add(passed).Format(time.RFC3339))
		if a := b.on(s.node).call("GET", back, ""); a.status != want {
			t.Errorf("after %s the callback answers %d %s; want %d", passed, a.status, a.body, want)
		}
	}
}

// after returns the text after the first occurrence of a mark, or nothing.
func after(text, mark string) string {
	_, rest, _ := strings.Cut(text, mark)
	return rest
}
