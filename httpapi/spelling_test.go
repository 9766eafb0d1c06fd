package httpapi_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/shortlink"
	"linkledger/internal/httpserver"
)

// visits are connections to one handler: one by the fast path, one by net/http alone.
type visits struct {
	fast, plain *rawClient
}

type rawClient struct {
	t       testing.TB
	address string
	conn    net.Conn
	answers *bufio.Reader
}

func visitsOf(t *testing.T, s *httpapitest.Stack) visits {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancelCause(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- httpserver.ServeFast(ctx, stop, s.Server, shortlink.IsPath, listener, slog.New(slog.DiscardHandler))
	}()
	plain := httptest.NewServer(s.Server)
	v := visits{
		fast:  &rawClient{t: t, address: listener.Addr().String()},
		plain: &rawClient{t: t, address: plain.Listener.Addr().String()},
	}
	t.Cleanup(func() {
		v.fast.close()
		v.plain.close()
		stop(nil)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		plain.Close()
	})
	return v
}

func (c *rawClient) close() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

// get asks for a path without changing its spelling, and returns status, Location and body of the answer.
func (c *rawClient) get(path string) (status int, location, body string) {
	c.t.Helper()
	if c.conn == nil {
		conn, err := (&net.Dialer{}).DialContext(c.t.Context(), "tcp", c.address)
		if err != nil {
			c.t.Fatal(err)
		}
		c.conn, c.answers = conn, bufio.NewReader(conn)
		if err := conn.SetDeadline(time.Now().Add(httpapitest.Timeout)); err != nil {
			c.t.Fatal(err)
		}
	}
	if _, err := fmt.Fprintf(c.conn, "GET %s HTTP/1.1\r\nHost: sho.rt\r\n\r\n", path); err != nil {
		c.t.Fatal(err)
	}
	answer, err := http.ReadResponse(c.answers, nil)
	if err != nil {
		c.t.Fatalf("%s: %v", path, err)
	}
	defer answer.Body.Close()
	read, err := io.ReadAll(answer.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if answer.Close {
		c.close()
	}
	return answer.StatusCode, answer.Header.Get("Location"), string(read)
}

// TestPastedAddresses visits each path of the table, with the links of some of its hashes.
func TestPastedAddresses(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	v := visitsOf(t, s)
	c := s.Client(t, "alice")
	exists := make(map[string]bool)
	for _, hash := range []string{"abc", "my_link", "my-link", "my--link", "mylink", "a-b_c9", "abc123"} {
		c.Create(`"custom_hash":"` + hash + `","long_url":"https://example.com/` + hash + `"`)
		exists[hash] = true
	}
	for _, row := range readTable(t, "shortlink/testdata/pasted.txt") {
		path, want := row[0], ""
		for _, hash := range strings.Fields(row[1]) {
			if want == "" && exists[hash] {
				want = "https://example.com/" + hash
			}
		}
		status := http.StatusNotFound
		if want != "" {
			status = http.StatusFound
		}
		clients := map[string]*rawClient{"fast path": v.fast, "net/http": v.plain}
		if _, err := url.ParseRequestURI(path); err != nil {
			delete(clients, "net/http") // refuses it, if the fast path does not mend it before
		}
		for by, client := range clients {
			if got, location, _ := client.get(path); got != status || location != want {
				t.Errorf("%s by %s: %d %q; want %d %q", path, by, got, location, status, want)
			}
		}
	}
}

// TestOtherSpellings checks which link a path leads to if there are several, and what else depends
// on the spelling.
func TestOtherSpellings(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	linked := func(hash string) {
		c.Create(`"custom_hash":"` + hash + `","long_url":"https://example.com/` + hash + `"`)
	}
	leads := func(path, to string) {
		t.Helper()
		a := s.Visit(t, "GET", path)
		if to == "" {
			httpapitest.Equal(t, path, a.Status, http.StatusNotFound)
			return
		}
		httpapitest.Equal(t, path, a.Header.Get("Location"), "https://example.com/"+to)
	}
	linked("abc")
	leads("/ABC", "abc")
	leads("/_abc_", "abc")
	leads("/_ABC_.", "abc")
	linked("ABC")
	leads("/ABC", "ABC")
	leads("/ABC)", "ABC")
	leads("/Abc", "abc")
	linked("_abc_")
	leads("/_abc_", "_abc_")
	leads("/_abc_*", "_abc_")
	c.Must("DELETE", "/v3/urls/ABC", "")
	httpapitest.Equal(t, "a deleted link", s.Visit(t, "GET", "/ABC").Status, http.StatusGone)
	leads("/nobody)", "")
	leads("/NOBODY", "")

	code := s.Visit(t, "GET", "/abc/qr.png")
	for _, path := range []string{
		"/abc/qr.png)", "/abc./qr.png", "//abc/qr.png", "/Abc/qr.png", "/abc/qr.png/", "/abc/qr.png%20",
	} {
		a := s.Visit(t, "GET", path)
		httpapitest.Equal(t, path, a.Status, http.StatusOK)
		httpapitest.Equal(t, path, a.Header.Get("ETag"), code.Header.Get("ETag"))
	}
	for path, status := range map[string]int{
		"/nobody/qr.png": 404, "/nobody)/qr.png.": 404, "/abc/qr.png.gif": 404, "/abc/qr.png/x": 404,
		"/abc./qr.png?size=big": 200, "/abc./qr.png?size=no": 400,
	} {
		httpapitest.Equal(t, path, s.Visit(t, "GET", path).Status, status)
	}
	httpapitest.Equal(t, "POST", s.Visit(t, "POST", "/abc.").Status, http.StatusMethodNotAllowed)
	httpapitest.Equal(t, "OPTIONS", s.Visit(t, "OPTIONS", "/abc.").Status, http.StatusNoContent)
	httpapitest.Equal(t, "HEAD", s.Visit(t, "HEAD", "/abc.").Status, http.StatusFound)

	for _, path := range []string{"//v3/urls", "///v3/urls/", "//v3/urls/abc"} {
		c.Must("GET", path, "")
	}
	for path, status := range map[string]int{
		"/v3//urls": 404, "//v3//urls/abc": 404, "//v3/urls//abc": 404, "//v3/./urls": 404, "//": 404,
		"//console/": 303, "//none": 404, "//example.com/%2e%2e": 404,
	} {
		a := s.Visit(t, "GET", path)
		httpapitest.Equal(t, path, a.Status, status)
		if strings.HasPrefix(a.Header.Get("Location"), "//") {
			t.Errorf("%s leads to %s", path, a.Header.Get("Location"))
		}
	}
}

// TestFastPathAnswersAsNetHTTP compares the answers of the two for random paths.
func TestFastPathAnswersAsNetHTTP(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	v := visitsOf(t, s)
	c := s.Client(t, "alice")
	for _, hash := range []string{"abc", "ABC", "a", "_a_"} {
		c.Create(`"custom_hash":"` + hash + `","long_url":"https://example.com/` + hash + `"`)
	}
	part := rapid.OneOf(
		rapid.SampledFrom([]string{
			"abc", "ABC", "Abc", "a", "_", "-", "/", ".", ")", "%20", "%2F", "%25", "%E2%80%8B", "&", "?", "?x=y", "#",
			"qr.png", "/qr.png", "v3", "console", "%2e", "%", "é", "\u3000", "，", "%ff", "&gt;", ";", "*", "//",
		}),
		rapid.StringMatching(`[!-~]{1,3}`),
	)
	rapid.Check(t, func(t *rapid.T) {
		path := "/" + strings.Join(rapid.SliceOfN(part, 0, 6).Draw(t, "parts"), "")
		if _, err := url.ParseRequestURI(path); err != nil {
			return // refused by net/http alone, if the fast path has not mended it
		}
		status, location, body := v.fast.get(path)
		plainStatus, plainLocation, plainBody := v.plain.get(path)
		if status != plainStatus || location != plainLocation || body != plainBody {
			t.Errorf("%s is answered %d %q by the fast path, and %d %q by net/http",
				path, status, location, plainStatus, plainLocation)
		}
		if strings.HasPrefix(location, "//") || status >= http.StatusInternalServerError {
			t.Errorf("%s is answered %d %q", path, status, location)
		}
	})
}
