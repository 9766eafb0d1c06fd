package live_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
)

// newWatchedSite returns a site behind a server, with an account that has the link "one".
func newWatchedSite(t *testing.T) (*browsertest.Site, *httptest.Server, *httpapitest.Client) {
	t.Helper()
	s := browsertest.NewSite(t, "")
	server := httptest.NewServer(s.Server)
	t.Cleanup(server.Close)
	owner := s.Client(t, "acme")
	owner.Create(`"long_url":"https://example.com/","custom_hash":"one"`)
	return s, server, owner
}

// watched is a page that a browser watches: server-sent events.
type watched struct {
	t        *testing.T
	cookies  map[string]*http.Cookie
	response *http.Response
	lines    *bufio.Scanner
}

// watch begins to watch the page of the link "one" at a server, with the cookies of a browser.
func watch(t *testing.T, b *browsertest.Browser, server *httptest.Server) *watched {
	t.Helper()
	return watchLink(t, b, server, "one")
}

func watchLink(t *testing.T, b *browsertest.Browser, server *httptest.Server, hash string) *watched {
	t.Helper()
	r, err := http.NewRequestWithContext(httpapitest.WithTimeout(t), http.MethodGet, server.URL+"/console/links/"+hash, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = httpapitest.ShortHost
	r.Header.Set("Accept", "text/event-stream")
	for _, cookie := range b.Cookies {
		r.AddCookie(cookie)
	}
	response, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return &watched{t, b.Cookies, response, bufio.NewScanner(response.Body)}
}

// next returns the next event: its type, if it has one, and its data. It returns false at the end of the stream.
func (w *watched) next() (event, data string, ok bool) {
	w.t.Helper()
	for w.lines.Scan() {
		line := w.lines.Text()
		switch name, value, _ := strings.Cut(line, ": "); {
		case line == "" && data+event != "":
			return event, data, true
		case name == "event":
			event = value
		case name == "data":
			data += value + "\n"
		}
	}
	if err := w.lines.Err(); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		w.t.Fatal(err)
	}
	return "", "", false
}

// shows waits for an event whose data contains a text.
func (w *watched) shows(part string) {
	w.t.Helper()
	for {
		event, data, ok := w.next()
		if !ok || event != "" {
			w.t.Fatalf("the stream ends with %q before it shows %q", event, part)
		}
		if strings.Contains(browsertest.TextOf(data), part) || strings.Contains(data, part) {
			return
		}
	}
}

// TestWatchedPage watches a page: it shows what changes, and ends with the session.
func TestWatchedPage(t *testing.T) {
	t.Parallel()
	s, server, owner := newWatchedSite(t)
	b := s.Browser(t)
	b.SignInBy(owner)
	w := watch(t, b, server)
	if kind := w.response.Header.Get("Content-Type"); kind != "text/event-stream" || w.response.StatusCode != http.StatusOK {
		t.Fatalf("the stream begins with %s, %s", w.response.Status, kind)
	}
	w.shows("<dt>Clicks</dt><dd>0</dd>")
	s.Visit(t, "GET", "/one")
	w.shows("<dt>Clicks</dt><dd>1</dd>")
	owner.Must("PATCH", "/v3/urls/one", `{"urls":[{"long_url":"https://example.com/<script>"}]}`)
	w.shows("https://example.com/&lt;script&gt;")
	owner.Must("DELETE", "/v3/urls/one", "")
	for data := "Clicks"; strings.Contains(data, "Clicks"); {
		var ok bool
		if _, data, ok = w.next(); !ok {
			t.Fatal("the stream ends with the link")
		}
	}
	owner.Must("POST", "/v3/urls/one/restore", "{}")
	s.SetTime(t, "2026-05-14T12:30:00Z")
	s.Visit(t, "GET", "/one")
	w.shows("<dt>Clicks</dt><dd>2</dd>")
	used := owner.Must("GET", "/v3/sessions", "").Sessions[0].LastUsed
	if !strings.HasPrefix(httpapitest.Wire(used), "2026-05-14T12:00:00") {
		t.Errorf("a page that is watched keeps its session: last used %s", used)
	}
	b.Must("DELETE", "/v3/session", "")
	for {
		event, data, ok := w.next()
		if !ok {
			t.Fatal("the stream ends without a word")
		}
		if event == "end" {
			break
		}
		if data == "" {
			t.Errorf("event %q", event)
		}
	}
	if _, _, ok := w.next(); ok {
		t.Error("the stream goes on after its end")
	}
}

// tooMany checks that a page is not watched because others are.
func (w *watched) tooMany(what string) {
	w.t.Helper()
	if w.response.StatusCode != http.StatusTooManyRequests || w.response.Header.Get("Retry-After") == "" {
		w.t.Errorf("one page too many of %s answers %s %v", what, w.response.Status, w.response.Header)
	}
}

// TestWatchedPagesAreBounded watches more pages than a session, a key, a person, an account and a process may, and then
// one after another was left.
func TestWatchedPagesAreBounded(t *testing.T) {
	t.Parallel()
	const most, ofAccount, ofCaller, ofSession = 64, 32, 16, 8
	s, server, owner := newWatchedSite(t)
	by := func(c *httpapitest.Client) func() *browsertest.Browser {
		return func() *browsertest.Browser {
			b := s.Browser(t)
			b.SignInBy(c)
			return b
		}
	}
	var streams []*watched
	watchMany := func(n int, hash string, signedIn func() *browsertest.Browser) {
		t.Helper()
		var b *browsertest.Browser
		for i := range n {
			if i%ofSession == 0 {
				b = signedIn()
			}
			w := watchLink(t, b, server, hash)
			w.shows("Clicks")
			streams = append(streams, w)
		}
	}
	b := by(owner)()
	watchMany(ofSession, "one", func() *browsertest.Browser { return b })
	watch(t, b, server).tooMany("a session")
	watchMany(ofCaller-ofSession, "one", by(owner))
	watch(t, by(owner)(), server).tooMany("a key")
	viewer := s.ViewerOf(t, owner)
	person := func() *browsertest.Browser { return browsertest.Started(t, s.Stack, viewer) }
	watchMany(ofCaller, "one", person)
	watch(t, person(), server).tooMany("a person")
	watch(t, by(owner.WithKey(``))(), server).tooMany("an account")

	other, third := s.Client(t, "other"), s.Client(t, "third")
	other.Create(`"long_url":"https://example.com/","custom_hash":"two"`)
	third.Create(`"long_url":"https://example.com/","custom_hash":"three"`)
	watchMany(ofCaller, "two", by(other))
	watchMany(ofAccount-ofCaller, "two", by(other.WithKey(``)))
	httpapitest.Equal(t, "watched pages", len(streams), most)
	last := by(third)()
	watchLink(t, last, server, "three").tooMany("a process")
	last.Shows("/console/links/three", "Clicks") // a page that is opened is none that is watched
	if err := streams[0].response.Body.Close(); err != nil {
		t.Fatal(err)
	}
	for ctx := httpapitest.WithTimeout(t); watchLink(t, last, server, "three").response.StatusCode != http.StatusOK; {
		if ctx.Err() != nil {
			t.Fatal("the place of a page that was left is never free")
		}
	}
	foreign := b.Call("GET", "/console/links/one", "", httpapitest.Header("Accept", "text/event-stream"), httpapitest.Header("Sec-Fetch-Site", "same-site"))
	if foreign.Status != http.StatusForbidden {
		t.Errorf("a stream for a page of another origin answers %d", foreign.Status)
	}
}

// TestWatchedPageEndsWithTheServer stops a server, which waits for the requests in flight.
func TestWatchedPageEndsWithTheServer(t *testing.T) {
	t.Parallel()
	s, server, owner := newWatchedSite(t)
	b := s.Browser(t)
	b.SignInBy(owner)
	w := watch(t, b, server)
	w.shows("Clicks")
	ctx, cancel := context.WithTimeout(t.Context(), httpapitest.Timeout)
	defer cancel()
	if err := server.Config.Shutdown(ctx); err != nil {
		t.Fatalf("the server waits for a page that is watched: %v", err)
	}
	if event, _, ok := w.next(); ok {
		t.Errorf("the stream goes on with %q", event)
	}
}

// TestWatchNeedsASession checks that a stream is refused as its page is.
func TestWatchNeedsASession(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	server := httptest.NewServer(s.Server)
	t.Cleanup(server.Close)
	w := watch(t, s.Browser(t), server)
	if w.response.StatusCode != http.StatusUnauthorized || strings.HasPrefix(w.response.Header.Get("WWW-Authenticate"), "Basic") {
		t.Errorf("a stream without a session answers %s %v", w.response.Status, w.response.Header)
	}
}

// TestWatchNeedsAPage checks that a download, whose refusals are shown by a page that can be watched, is refused as a
// stream.
func TestWatchNeedsAPage(t *testing.T) {
	t.Parallel()
	s, _, owner := newWatchedSite(t)
	b := s.Browser(t)
	b.SignInBy(owner)
	stream := httpapitest.Header("Accept", "text/event-stream")
	httpapitest.Equal(t, "a stream of a download", b.Call("GET", "/console/links/one/proof", "", stream).Status, http.StatusNotAcceptable)
}
