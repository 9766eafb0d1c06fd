package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bunrouter"

	"linkledger/commands/hashes"
	"linkledger/queries"
)

const (
	headerRequestID = "X-Request-Id"
	// headerMethod is what clients that can send nothing but POST mean.
	headerMethod = "X-HTTP-Method-Override"
)

// requestIDs are the incoming request ids that are taken over. They end up in logs and in the metadata of events.
var requestIDs = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// hosts are the values of a Host header that short links are made of.
var hosts = regexp.MustCompile(`^[A-Za-z0-9._-]{1,253}(:[0-9]{1,5})?$|^\[[0-9A-Fa-f:.]{2,45}\](:[0-9]{1,5})?$`)

func validHost(host string) bool { return hosts.MatchString(host) }

// exchange is one request and its answer.
type exchange struct {
	http.ResponseWriter

	request *http.Request
	id      string // of the request
	sent    string // method, before any override
	route   string // pattern that matched
	client  bool   // it is a call of the API
	params  bunrouter.Params
	account queries.Account // who asks; zero before authentication
	status  int             // of the answer; 0: not yet known
	payload map[string]any  // of the body, where it was read
	left    <-chan struct{} // closed when the client has
}

// WriteHeader implements http.ResponseWriter.
func (e *exchange) WriteHeader(status int) {
	if e.status == 0 {
		e.status = status
	}
	e.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (e *exchange) Write(p []byte) (int, error) {
	if e.status == 0 {
		e.status = http.StatusOK
	}
	return e.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (e *exchange) Unwrap() http.ResponseWriter { return e.ResponseWriter }

// context ends with the request's deadline.
func (e *exchange) context() context.Context { return e.request.Context() }

// extend gives the request another deadline from now on. The caller calls end when it is done.
func (e *exchange) extend(timeout time.Duration) (end context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.context()), timeout)
	e.request = e.request.WithContext(ctx)
	// Not every writer has a deadline, and then there is none to extend.
	_ = http.NewResponseController(e.ResponseWriter).SetWriteDeadline(time.Now().Add(timeout + farewell))
	return cancel
}

// farewell is the time to write the answer when all else is done.
const farewell = 10 * time.Second

// param returns a segment of the path, unescaped.
func (e *exchange) param(name string) string {
	value, err := url.PathUnescape(e.params.ByName(name))
	if err != nil { // canonical escapes ours
		return ""
	}
	return value
}

// exchangeOf returns the exchange that ServeHTTP handed to the router, with what the router found.
func exchangeOf(w http.ResponseWriter, r bunrouter.Request) *exchange {
	e := w.(*exchange) //nolint:forcetypeassert // nothing stands between ServeHTTP and the handlers
	e.route, e.params = r.Route(), r.Params()
	return e
}

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	e := &exchange{ResponseWriter: w, request: r, sent: r.Method, id: r.Header.Get(headerRequestID)}
	if !requestIDs.MatchString(e.id) {
		e.id = uuid.NewString()
	}
	if s.cfg.Tracer != nil {
		span := s.beginTrace(e)
		r = e.request
		defer s.endTrace(e, span)
	}
	defer func() { s.observe(e, start) }()
	header := w.Header()
	header[headerRequestID] = []string{e.id}
	header["X-Content-Type-Options"] = []string{"nosniff"}

	path, known := canonical(r.URL)
	if s.api != nil && (path.Path == "/v3" || strings.HasPrefix(path.Path, "/v3/")) {
		e.client = true
		if !s.shareAnswer(e, path.Path) {
			s.serveClient(e, path, known)
		}
		return
	}
	// What a redirect waits for has deadlines of its own, and there are many of them.
	if path != r.URL {
		e.request = r.WithContext(r.Context())
		e.request.URL = path
	}
	defer s.recoverPanic(e, s.answerVisitor)
	if err := s.serve(s.short, e, known); err != nil {
		s.answerVisitor(e, s.failureOf(e, err))
	}
}

// serveClient answers a call of the API within the request's deadline.
func (s *server) serveClient(e *exchange, path *url.URL, known bool) {
	ctx := e.context()
	e.left = ctx.Done()
	if e.sent != http.MethodGet && e.sent != http.MethodHead {
		ctx = context.WithoutCancel(ctx) // a write that has begun is finished
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.RequestTimeout)
	defer cancel()
	e.request = e.request.WithContext(ctx)
	e.request.URL = path
	e.override()
	defer s.recoverPanic(e, s.answerClient)
	if err := s.serve(s.api, e, known); err != nil {
		s.answerClient(e, s.failureOf(e, err))
	}
}

func (s *server) serve(router *bunrouter.Router, e *exchange, known bool) error {
	if s.cfg.BaseURL == "" && !validHost(e.request.Host) {
		return &apiError{code: codeWrongInput, details: "The Host header does not name a host"}
	}
	if router == nil || !known {
		return &apiError{code: codeInvalidResource}
	}
	return router.ServeHTTPError(e, e.request)
}

// canonical returns the URL with the one spelling of its path that the routers see: no trailing slash, and escaped only
// what has to be. It is false for paths that no route has: with empty or dot segments, which the router would answer
// with a redirect or take for others.
func canonical(u *url.URL) (*url.URL, bool) {
	if isHash(u.Path) && u.RawPath == "" {
		return u, true
	}
	c := *u
	path, rooted := strings.CutPrefix(u.EscapedPath(), "/")
	segments := strings.Split(strings.TrimSuffix(path, "/"), "/")
	if path == "" || path == "/" {
		segments = nil
	}
	escaped := make([]string, len(segments))
	for i, segment := range segments {
		decoded, err := url.PathUnescape(segment)
		if err != nil {
			return &c, false
		}
		segments[i], escaped[i] = decoded, url.PathEscape(decoded)
	}
	c.Path, c.RawPath = "/"+strings.Join(segments, "/"), "/"+strings.Join(escaped, "/")
	odd := path == "/" || slices.ContainsFunc(segments, func(s string) bool { return s == "" || s == "." || s == ".." })
	return &c, rooted && !odd
}

// IsShort tells whether a path is that of a short link as nearly everybody writes it.
func IsShort(path string) bool { return isHash(path) && !slices.Contains(ReservedHashes(), path[1:]) }

// isHash tells whether a path is nothing but a hash.
func isHash(path string) bool {
	hash, rooted := strings.CutPrefix(path, "/")
	return rooted && hashes.Valid(hash)
}

// override lets clients that can send nothing but POST say which method they mean.
func (e *exchange) override() {
	if meant := e.request.Header.Get(headerMethod); meant != "" && e.sent == http.MethodPost {
		e.request.Method = strings.ToUpper(strings.TrimSpace(meant))
	}
}

// recoverPanic answers a request whose handler panicked. What cannot be answered any more breaks the connection off, so
// that nobody takes half an answer for a whole one.
func (s *server) recoverPanic(e *exchange, answer func(*exchange, failure)) {
	value := recover()
	if value == nil {
		return
	}
	if value == http.ErrAbortHandler { //nolint:errorlint // the value itself is what net/http compares
		panic(value)
	}
	s.cfg.Logger.ErrorContext(e.context(), "request panicked", slog.String("request", e.id), slog.String("panic", clipTo(fmt.Sprint(value), maxLoggedError)),
		slog.String("stack", string(debug.Stack())))
	if e.status != 0 {
		panic(http.ErrAbortHandler)
	}
	answer(e, failure{code: codeUnknown, status: http.StatusInternalServerError})
}

// observe tells of a request, in words of a bounded vocabulary.
func (s *server) observe(e *exchange, start time.Time) {
	took := time.Since(start)
	s.cfg.Observe(knownMethod(e.request.Method), e.route, cmp.Or(e.status, http.StatusOK), took)
	if s.cfg.LogRequests == LogAll || s.cfg.LogRequests == LogAPI && e.client {
		s.logRequest(e, took)
	}
}

// knownMethod is the method, or "other": anybody can send any.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

func (s *server) logRequest(e *exchange, took time.Duration) {
	s.cfg.Logger.InfoContext(e.context(), "request",
		slog.String("method", knownMethod(e.request.Method)), slog.String("route", e.route), slog.Int("status", e.status),
		slog.Duration("duration", took), slog.String("request", e.id), slog.String("account", e.account.Username))
}

// baseURL returns scheme and host of the short links.
func (s *server) baseURL(e *exchange) string {
	if s.cfg.BaseURL != "" {
		return s.cfg.BaseURL
	}
	if e.request.TLS != nil {
		return "https://" + e.request.Host
	}
	return "http://" + e.request.Host
}
