package httpapi_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"linkledger/internal/operators/operatorstest"

	"github.com/google/uuid"

	"linkledger/httpapi"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/console"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/login"
	"linkledger/httpapi/openid/openidtest"
	"linkledger/httpapi/signin"
	"linkledger/internal/operators"
	"linkledger/projections/engine"
	"linkledger/queries/accountlist"
)

// TestSignInLink signs in by a one-time link, which works once, within its time, and only from its own page.
func TestSignInLink(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	owner := s.Client(t, "acme")
	key := owner.Must("GET", "/v3/keys", "").Keys[0]
	of := accountlist.NewSession{Account: uuid.MustParse(owner.ID), Key: key.ID}
	b, link := s.Browser(t), s.SignInLink(t, of)
	for range 2 { // to look at the page does not use the link
		b.Shows(link, "It works once", `<form method="post">`)
	}
	foreign := b.Call("POST", link, "", httpapitest.Header("Origin", "https://evil.example"), httpapitest.Header("Sec-Fetch-Site", "cross-site"))
	if foreign.Status != http.StatusForbidden {
		t.Errorf("from another origin: %d", foreign.Status)
	}
	b.Leads(link, nil, "/console")
	b.Shows("/console/keys", key.ID)
	if session := b.Must("GET", "/v3/session", "").Session; *session.Key != key.ID || session.Operator {
		t.Errorf("signed in as %+v", session)
	}
	refuses := func(what, link string) {
		t.Helper()
		b := s.Browser(t)
		a := b.Sends(link, nil)
		if !strings.Contains(a.Body, "was used before or has expired") || b.Cookies["linkledger"] != nil {
			t.Errorf("%s: %d %v\n%s", what, a.Status, a.Header, a.Body)
		}
	}
	refuses("a used link", link)
	refuses("another secret", console.LinkPath+strings.Repeat("A", 43))
	refuses("no secret", console.LinkPath+"x")
	late := s.SignInLink(t, of)
	s.SetTime(t, s.Now().Add(time.Hour).Format(time.RFC3339))
	refuses("an old link", late)

	operator := s.Browser(t)
	operator.Leads(s.SignInLink(t, accountlist.NewSession{Operator: true}), nil, "/console")
	if session := operator.Must("GET", "/v3/session", "").Session; !session.Operator || session.Account != nil {
		t.Errorf("an operator signed in as %+v", session)
	}
}

// TestSignInLinkIsUsedOnce lets several browsers on two nodes use one link at once.
func TestSignInLinkIsUsedOnce(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	link := s.SignInLink(t, accountlist.NewSession{Operator: true})
	var signedIn atomic.Int32
	var all sync.WaitGroup
	for i := range 16 {
		b := s.Browser(t)
		if i%2 == 1 {
			b = b.On(s.Node)
		}
		all.Go(func() {
			if b.Post(link, nil).Header.Get("Location") == "/console" {
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
	s := browsertest.NewSite(t, "", func(cfg *httpapi.Config) { cfg.LoginRefused = counts.add })
	links := map[string]http.Handler{"owners": s.Server, "operators": operatorstest.For(t, s.Stack, engine.Config{}, httpapitest.Timeout, func(cfg *operators.Config) {
		cfg.Sessions.Guard = login.New(login.Config{
			Refused: counts.add, Now: cfg.Sessions.Now, Logger: slog.New(slog.NewTextHandler(s.Log, nil)),
		})
	})}
	guess := func(h http.Handler, i int, address string) (reason string) {
		secret := strings.Repeat("A", 41) + fmt.Sprintf("%02d", i)
		if i%2 == 0 {
			secret = "x" // no link has such a secret
		}
		b := browsertest.NewBrowser(t, h)
		shown := b.Follow(b.Call("POST", console.LinkPath+secret, "", httpapitest.From(address, "x")))
		reason, _, _ = strings.Cut(after(shown.Body, `role="alert">`), "</p>")
		return strings.ToLower(reason)
	}
	for name, h := range links {
		for i := range httpapitest.LoginsWithReason {
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
		b := browsertest.NewBrowser(t, h)
		a := b.Call("POST", s.SignInLink(t, accountlist.NewSession{Operator: true}), "", httpapitest.From("192.0.2.7:1", "x"))
		if a.Status != http.StatusSeeOther || len(b.Cookies) != 1 {
			t.Errorf("the right link at the console of %s: %d", name, a.Status)
		}
	}
	s.Stranger(t, "acme").Call("GET", "/v3/account", "", httpapitest.From("192.0.2.7:1", "x")).
		Is(http.StatusTooManyRequests, apierror.CodeCallLimit) // wrong links count as wrong keys
	httpapitest.Equal(t, "refused links", counts.of("bad_link"), 2*(httpapitest.LoginsWithReason+1))
	httpapitest.Equal(t, "throttled", counts.of("throttled"), 3)
	for _, address := range []string{"192.0.2.7", "192.0.2.8"} {
		if len(s.Log.Matching("login refused", "reason=bad_link", "address="+address)) == 0 {
			t.Errorf("the guesses from %s are not logged", address)
		}
	}
	if len(s.Log.Matching(strings.Repeat("A", 41))) > 0 {
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
	s := browsertest.NewSite(t, "")
	b, _ := s.SignIn(t, openidtest.Ada)
	before := b.Must("GET", "/v3/session", "").Session.ID
	for back, want := range map[string]string{
		"":                              "/console/sign-in?return=%2Fconsole",
		"?return=/console/keys%3Fa%3Db": "/console/sign-in?return=%2Fconsole%2Fkeys%3Fa%3Db",
		"?return=//evil.example":        "/console/sign-in?return=%2Fconsole",
	} {
		for _, site := range []string{"cross-site", "same-site"} {
			for _, method := range []string{"GET", "HEAD"} {
				a := b.Call(method, signin.BeginPath+back, "", httpapitest.Header("Sec-Fetch-Site", site))
				if a.Status != http.StatusSeeOther || a.Header.Get("Location") != want || len(a.Header["Set-Cookie"]) > 0 {
					t.Errorf("%s %s from a %s page: %d %v; want %s", method, back, site, a.Status, a.Header, want)
				}
			}
		}
	}
	b.Shows("/console/sign-in?return=%2Fconsole%2Fkeys", "/console/openid?return=%2Fconsole%2Fkeys")
	httpapitest.Equal(t, "session", b.Must("GET", "/v3/session", "").Session.ID, before)
	for _, site := range []string{"same-origin", "none"} {
		a := b.Call("GET", signin.BeginPath, "", httpapitest.Header("Sec-Fetch-Site", site))
		if a.Status != http.StatusSeeOther || !strings.HasPrefix(a.Header.Get("Location"), s.Issuer.URL) {
			t.Errorf("%s: %d %q", site, a.Status, a.Header.Get("Location"))
		}
	}
}

// after returns the text after the first occurrence of a mark, or nothing.
func after(text, mark string) string {
	_, rest, _ := strings.Cut(text, mark)
	return rest
}
