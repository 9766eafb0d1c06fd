package httpapi

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/uptrace/bunrouter"
)

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	c := newExchange(w, r)
	if s.cfg.Tracer != nil {
		span := s.beginTrace(c)
		r = c.request
		defer s.endTrace(c, span)
	}
	defer func() { s.observe(c, start) }()
	header := w.Header()
	header[headerRequestID] = []string{c.id}
	header["X-Content-Type-Options"] = []string{"nosniff"}

	path, known := canonical(r.URL)
	if s.api != nil && (path.Path == "/v3" || strings.HasPrefix(path.Path, "/v3/")) {
		c.client = true
		if !s.shareAnswer(c, path.Path) {
			s.serveClient(c, path, known)
		}
		return
	}
	// What a redirect waits for has deadlines of its own, and there are many of them.
	if path != r.URL {
		c.request = r.WithContext(r.Context())
		c.request.URL = path
	}
	defer s.recoverPanic(c, writeNotice)
	if err := s.serve(s.short, c, known); err != nil {
		writeNotice(c, failureOf(c, s.cfg.Logger, err))
	}
}

// serveClient answers a call of the API within the request's deadline.
func (s *server) serveClient(c *exchange, path *url.URL, known bool) {
	ctx := c.context()
	c.left = ctx.Done()
	if c.sent != http.MethodGet && c.sent != http.MethodHead {
		ctx = context.WithoutCancel(ctx) // a write that has begun is finished
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.RequestTimeout)
	defer cancel()
	c.request = c.request.WithContext(ctx)
	c.request.URL = path
	c.override()
	defer s.recoverPanic(c, writeClientFailure)
	if err := s.serve(s.api, c, known); err != nil {
		writeClientFailure(c, failureOf(c, s.cfg.Logger, err))
	}
}

func (s *server) serve(routes *bunrouter.Router, c *exchange, known bool) error {
	if s.cfg.BaseURL == "" && !validHost(c.request.Host) {
		return &apiError{code: codeWrongInput, details: "The Host header does not name a host"}
	}
	if routes == nil || !known {
		return &apiError{code: codeInvalidResource}
	}
	return routes.ServeHTTPError(c, c.request)
}

// recoverPanic answers a request whose handler panicked. What cannot be answered any more breaks the connection off, so
// that nobody takes half an answer for a whole one.
func (s *server) recoverPanic(c *exchange, answer func(*exchange, failure)) {
	value := recover()
	if value == nil {
		return
	}
	if value == http.ErrAbortHandler { //nolint:errorlint // the value itself is what net/http compares
		panic(value)
	}
	f := panicked(c, s.cfg.Logger, value)
	if c.status != 0 {
		panic(http.ErrAbortHandler)
	}
	answer(c, f)
}

// observe tells of a request, in words of a bounded vocabulary.
func (s *server) observe(c *exchange, start time.Time) {
	took := time.Since(start)
	s.cfg.Observe(c.knownMethod(), c.route, cmp.Or(c.status, http.StatusOK), took)
	if s.cfg.LogRequests == LogAll || s.cfg.LogRequests == LogAPI && c.client {
		s.logRequest(c, took)
	}
}

func (s *server) logRequest(c *exchange, took time.Duration) {
	s.cfg.Logger.InfoContext(c.context(), "request",
		slog.String("method", c.knownMethod()), slog.String("route", c.route), slog.Int("status", c.status),
		slog.Duration("duration", took), slog.String("request", c.id), slog.String("account", c.account.Username))
}

// writeClientFailure answers a client of the API.
func writeClientFailure(c *exchange, f failure) { writeFailure(c, f) }
