package fastpath_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"linkledger/httpapi/fastpath"
)

// testTimeout bounds every wait of the tests.
const testTimeout = 20 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// served is a server with a fast path.
type served struct {
	*fastpath.Listener

	logged *bytes.Buffer // may be read after Shutdown
}

// fastPathHeader is the header that says whether the fast path passed a request to the handler.
// Requests of net/http have a context that requests of the fast path do not have.
const fastPathHeader = "X-Fast-Path"

func serve(t *testing.T, handler http.HandlerFunc, change func(*fastpath.Config)) *served {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	marking := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(fastPathHeader, strconv.FormatBool(r.Context().Value(http.ServerContextKey) == nil))
		handler(w, r)
	})
	var logged bytes.Buffer
	cfg := fastpath.Config{
		Handler: marking, Eligible: func(path string) bool { return strings.HasPrefix(path, "/go") },
		HeadTimeout: testTimeout, WriteTimeout: testTimeout, IdleTimeout: testTimeout,
		ErrorLog: log.New(&logged, "", 0),
	}
	if change != nil {
		change(&cfg)
	}
	s := &served{fastpath.Listen(listener, cfg), &logged}
	server := &http.Server{Handler: marking, ReadHeaderTimeout: testTimeout, ErrorLog: log.New(io.Discard, "", 0)}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(s) }()
	t.Cleanup(func() {
		_ = server.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
		defer cancel()
		_ = s.Shutdown(ctx)
	})
	return s
}

// visitor is a connection to the server.
type visitor struct {
	net.Conn

	t       *testing.T
	answers *bufio.Reader
	last    bool // whether the latest response closes the connection
}

func (s *served) dial(t *testing.T) *visitor {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(testTimeout)); err != nil {
		t.Fatal(err)
	}
	return &visitor{Conn: conn, t: t, answers: bufio.NewReader(conn)}
}

func (v *visitor) send(text string) {
	v.t.Helper()
	if _, err := io.WriteString(v, text); err != nil {
		v.t.Fatal(err)
	}
}

// answered reads a response, checks its body and whether the fast path gave it, and returns its
// header.
func (v *visitor) answered(body string, byFastPath bool) http.Header {
	v.t.Helper()
	answer, err := http.ReadResponse(v.answers, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	got, err := io.ReadAll(answer.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	if answer.StatusCode != http.StatusTeapot || string(got) != body {
		v.t.Errorf("answered %s %q, want %d %q", answer.Status, got, http.StatusTeapot, body)
	}
	if by := answer.Header.Get(fastPathHeader); by != strconv.FormatBool(byFastPath) {
		v.t.Errorf("answered by the fast path: %s, want %t", by, byFastPath)
	}
	v.last = answer.Close
	return answer.Header
}

// ended checks that the server closes the connection without another response.
func (v *visitor) ended() {
	v.t.Helper()
	if rest, err := io.ReadAll(v.answers); err != nil || len(rest) > 0 {
		v.t.Errorf("the connection ends with %q, %v", rest, err)
	}
}

// echo responds with the path and the body.
func echo(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	w.Header()["Injected"] = []string{"a\r\nb: c"}
	w.WriteHeader(http.StatusTeapot)
	_, _ = io.WriteString(w, r.URL.Path+" from "+r.Header.Get("X-From")+": ")
	_, _ = io.Copy(w, r.Body)
}

func get(path, from string) string {
	return "GET " + path + " HTTP/1.1\r\nHost: fastpath.test\r\nX-From: " + from + "\r\n\r\n"
}

func TestOneRequestAfterTheOther(t *testing.T) {
	t.Parallel()
	v := serve(t, echo, nil).dial(t)
	for range 3 {
		v.send(get("/go", "me"))
		header := v.answered("/go from me: ", true)
		if at, err := http.ParseTime(header.Get("Date")); err != nil || time.Since(at) > testTimeout {
			t.Errorf("the date is %q", header.Get("Date"))
		}
		if header.Get("B") != "" || header.Get("Content-Type") != "text/plain" {
			t.Errorf("headers %v", header)
		}
	}
	v.send(get("/go1", "a") + get("/go2", "b") + get("/go3", "c")[:20]) // pipelined
	v.answered("/go1 from a: ", true)
	v.answered("/go2 from b: ", true)
	for _, b := range get("/go3", "c")[20:] {
		v.send(string(b))
	}
	v.answered("/go3 from c: ", true)
}

func TestOthersAreHandedOver(t *testing.T) {
	t.Parallel()
	s := serve(t, echo, nil)
	for name, sent := range map[string]string{
		"post": "POST /go HTTP/1.1\r\nHost: fastpath.test\r\nContent-Length: 4\r\nX-From: me\r\n\r\nbody",
		"chunk": "GET /go HTTP/1.1\r\nHost: fastpath.test\r\nTransfer-Encoding: chunked\r\nX-From: " +
			"me\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := s.dial(t)
			v.send(get("/go", "me"))
			v.answered("/go from me: ", true)
			v.send(sent)
			v.answered("/go from me: body", false)
			v.send(get("/go", "me")) // from now on net/http serves the connection
			v.answered("/go from me: ", false)
		})
	}
	t.Run("in pieces", func(t *testing.T) {
		t.Parallel()
		v := s.dial(t)
		for _, b := range get("/elsewhere", strings.Repeat("x", 5000)) {
			v.send(string(b))
		}
		v.answered("/elsewhere from "+strings.Repeat("x", 5000)+": ", false)
	})
	t.Run("refused by net/http", func(t *testing.T) {
		t.Parallel()
		v := s.dial(t)
		v.send("GET /go HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
		if answer, err := io.ReadAll(v.answers); err != nil || !bytes.HasPrefix(answer, []byte("HTTP/1.1 400 ")) {
			t.Errorf("answered %q, %v", answer, err)
		}
	})
}

func TestSlowClientsAreCutOff(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		head, idle time.Duration
		sent       string
		answers    int
	}{
		"nothing sent":            {time.Millisecond, testTimeout, "", 0},
		"half a head":             {50 * time.Millisecond, testTimeout, get("/go", "me")[:30], 0},
		"half of a second":        {50 * time.Millisecond, testTimeout, get("/go", "me") + get("/go", "me")[:30], 1},
		"nothing after an answer": {testTimeout, time.Millisecond, get("/go", "me"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := serve(
				t, echo, func(cfg *fastpath.Config) { cfg.HeadTimeout, cfg.IdleTimeout = test.head, test.idle },
			).dial(t)
			v.send(test.sent)
			for range test.answers {
				v.answered("/go from me: ", true)
			}
			v.ended()
		})
	}
}

func TestPanics(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		value  any
		logged bool
	}{"a bug": {"no such thing", true}, "on purpose": {http.ErrAbortHandler, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusOK)
				panic(test.value)
			}, nil)
			v := s.dial(t)
			v.send(get("/go", "me"))
			v.ended()
			if err := s.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			if got := strings.Contains(s.logged.String(), "no such thing"); got != test.logged {
				t.Errorf("logged %q", s.logged)
			}
		})
	}
}

func TestHandlersCloseConnections(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") }, nil)
	for _, path := range []string{"/go", "/other"} {
		conn, err := net.Dial("tcp", s.Addr().String())
		if err == nil {
			err = conn.SetDeadline(time.Now().Add(testTimeout))
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(conn) // until the server closes it
		if err != nil || strings.Count(string(got), "Connection: close\r\n") != 1 {
			t.Errorf("%s: %v\n%s", path, err, got)
		}
		_ = conn.Close()
	}
}

func TestShutdown(t *testing.T) {
	t.Parallel()
	begun, goOn := make(chan struct{}), make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/gone" {
			close(begun)
			<-goOn
		}
		echo(w, r)
	}, nil)
	idle, busy := s.dial(t), s.dial(t)
	idle.send(get("/go", "me"))
	idle.answered("/go from me: ", true)
	busy.send(get("/gone", "me"))
	<-begun
	ended := make(chan error)
	go func() { ended <- s.Shutdown(context.Background()) }()
	idle.ended()
	close(goOn)
	busy.answered("/gone from me: ", true)
	if !busy.last {
		t.Error("the last answer does not say so")
	}
	busy.ended()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := s.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("accepts: %v", err)
	}
}

// TestNewConnectionsAreServed checks that a connection that was accepted when the listener closes gets an answer to its
// first request, on both paths: a proxy does not repeat a POST that it has sent.
func TestNewConnectionsAreServed(t *testing.T) {
	t.Parallel()
	s := serve(t, echo, nil)
	visit, post, silent, last := s.dial(t), s.dial(t), s.dial(t), s.dial(t)
	last.send(get("/go", "me"))
	last.answered("/go from me: ", true) // so the others were accepted before
	ended := make(chan error)
	go func() { ended <- s.Shutdown(context.Background()) }()
	last.ended()
	visit.send(get("/go", "me"))
	visit.answered("/go from me: ", true)
	if !visit.last {
		t.Error("the only answer does not say so")
	}
	visit.ended()
	post.send("POST /go HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nConnection: close\r\nX-From: me\r\n\r\nok")
	post.answered("/go from me: ok", false)
	silent.ended()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := s.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("accepts: %v", err)
	}
}

func TestShutdownThatRunsOutOfTime(t *testing.T) {
	t.Parallel()
	begun, goOn := make(chan struct{}), make(chan struct{})
	s := serve(t, func(http.ResponseWriter, *http.Request) {
		close(begun)
		<-goOn
	}, nil)
	defer close(goOn)
	v := s.dial(t)
	v.send(get("/go", "me"))
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("shut down: %v", err)
	}
	v.ended()
}
