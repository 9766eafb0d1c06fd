// Package alonetest gives tests a console of operators on a real log and PostgreSQL, with a
// browser that an operator has signed in.
package alonetest

import (
	"bytes"
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/httpapi/login"
	"linkledger/httpapi/peer"
	"linkledger/httpapi/session"
	"linkledger/internal/operators"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/projections/projectionstest"
	"linkledger/projections/readmodel"
	"linkledger/queries"
	"linkledger/queries/accountlist"
)

// Console is a console of operators in the process of a test.
type Console struct {
	*operators.Handler

	DB     *readmodel.DB
	Store  *eventstore.Store
	Events *eventstoretest.Server // of Store
	Writer *projectionstest.Writer

	t   testing.TB
	log *output
}

// New returns a console. Its projections park what they cannot apply.
func New(t testing.TB, adjust ...func(*operators.Config)) *Console {
	t.Helper()
	c := &Console{t: t, DB: projectionstest.Open(t), Events: eventstoretest.Serve(t), log: new(output)}
	var err error
	if c.Store, err = eventstore.Open(eventstore.Config{URL: c.Events.URL()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Store.Close)
	c.Writer = projectionstest.NewWriter(t, c.Store)
	logger := slog.New(slog.NewTextHandler(c.log, nil))
	cfg := operators.Config{
		DB: c.DB, Store: c.Store, Queries: queries.New(c.DB),
		Sessions: &session.Sessions{
			Store: c.DB.Keys, Queries: queries.New(c.DB), Pseudonyms: peer.NewPseudonyms(make([]byte, 32)),
			Origins: http.NewCrossOriginProtection(), Now: time.Now, Logger: logger,
			Guard: login.New(login.Config{Refused: func(string) {}, Now: time.Now, Logger: logger}),
		},
		Process: operators.Process{Version: "v1.2.3", Roles: "api", Spool: func() string { return "7 clicks" }},
		Hosts:   operators.Hosts{"ops.example"}, Patience: time.Minute, Logger: logger,
	}
	for _, change := range adjust {
		change(&cfg)
	}
	if c.Handler, err = operators.New(cfg); err != nil {
		t.Fatal(err)
	}
	projectionstest.Run(t, engine.Config{DB: c.DB, Store: c.Store, RetryInterval: time.Hour})
	return c
}

// Await waits until the read models show the log.
func (c *Console) Await() {
	c.t.Helper()
	ctx := projectionstest.Context(c.t)
	head, err := c.Store.Head(ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, name := range projections.Names() {
		if err := projections.Await(ctx, c.DB, c.Store, name, head); err != nil {
			c.t.Fatal(err)
		}
	}
}

// Log returns what the console has logged.
func (c *Console) Log() string { return c.log.String() }

// Link returns the path of a new one-time link that starts a session.
func (c *Console) Link(of accountlist.NewSession) string {
	c.t.Helper()
	now := time.Now()
	secret, err := c.DB.Keys.AddSignInLink(c.t.Context(), of, now, now.Add(time.Hour))
	if err != nil {
		c.t.Fatal(err)
	}
	return "/console/sign-in/" + secret
}

// Operator returns a browser with the session of an operator.
func (c *Console) Operator() *Browser {
	c.t.Helper()
	b := c.Browser()
	if a := b.Post(c.Link(accountlist.NewSession{Operator: true}), nil); a.Leads != "/console" {
		c.t.Fatalf("the sign-in leads to %q: %d %s", a.Leads, a.Status, a.Text)
	}
	return b
}

// Browser returns a browser without a session.
func (c *Console) Browser() *Browser {
	return &Browser{c: c, Host: "localhost", cookies: make(map[string]*http.Cookie)}
}

// Browser opens pages of a console.
type Browser struct {
	Host string // by which it reaches the console

	c       *Console
	cookies map[string]*http.Cookie
}

// Answer is what a browser gets.
type Answer struct {
	Status int
	Text   string // of the body, without escapes of HTML
	Leads  string // where it redirects to, without parameters
	Whole  string // where it redirects to
}

// Get opens a page.
func (b *Browser) Get(path string) Answer { return b.do(http.MethodGet, path, nil, "") }

// Post sends a form of a page of the console.
func (b *Browser) Post(path string, fields url.Values) Answer {
	return b.do(http.MethodPost, path, fields, "same-origin")
}

// PostFrom sends a form of a page of another site, as browsers name it.
func (b *Browser) PostFrom(site, path string) Answer { return b.do(http.MethodPost, path, nil, site) }

// Send sends a form and opens the page that it leads to.
func (b *Browser) Send(path string, fields url.Values) Answer {
	b.c.t.Helper()
	a := b.Post(path, fields)
	if a.Status != http.StatusSeeOther {
		b.c.t.Fatalf("%s answers %d\n%s", path, a.Status, a.Text)
	}
	return b.Get(a.Whole)
}

func (b *Browser) do(method, path string, fields url.Values, site string) Answer {
	r := httptest.NewRequest(method, path, strings.NewReader(fields.Encode())).WithContext(b.c.t.Context())
	r.Host = b.Host
	r.Header.Set("Accept", "text/html")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", site)
	}
	for _, cookie := range b.cookies {
		r.AddCookie(cookie)
	}
	w := httptest.NewRecorder()
	b.c.ServeHTTP(w, r)
	for _, cookie := range w.Result().Cookies() {
		b.cookies[cookie.Name] = cookie
	}
	a := Answer{Status: w.Code, Text: html.UnescapeString(w.Body.String()), Whole: w.Header().Get("Location")}
	a.Leads, _, _ = strings.Cut(a.Whole, "?")
	return a
}

// Shows opens a page and checks that it has all parts.
func (b *Browser) Shows(path string, parts ...string) Answer {
	b.c.t.Helper()
	a := b.Get(path)
	if a.Status != http.StatusOK {
		b.c.t.Fatalf("%s answers %d\n%s", path, a.Status, a.Text)
	}
	for _, part := range parts {
		if !strings.Contains(a.Text, part) {
			b.c.t.Errorf("%s does not show %q\n%s", path, part, a.Text)
		}
	}
	return a
}

// ShowsSoon opens a page until it has a part.
func (b *Browser) ShowsSoon(path, part string) {
	b.c.t.Helper()
	for ctx := projectionstest.Context(b.c.t); ; {
		a := b.Get(path)
		if a.Status == http.StatusOK && strings.Contains(a.Text, part) {
			return
		}
		if ctx.Err() != nil {
			b.c.t.Fatalf("%s never shows %q\n%s", path, part, a.Text)
		}
	}
}

// output collects a log.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(text)
}

// String returns what was written.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
