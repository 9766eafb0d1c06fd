package httpapi

import (
	"cmp"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/console"
	"linkledger/httpapi/redirect"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/router"
	"linkledger/httpapi/shortlink"
)

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	c := request.New(w, r)
	if s.cfg.Tracer != nil {
		span := s.beginTrace(c)
		r = c.Request
		defer s.endTrace(c, span)
	}
	call := false // whether the request is a call of the API
	defer func() { s.observe(c, call, start) }()
	header := w.Header()
	header[request.HeaderID] = []string{c.ID}
	header["X-Content-Type-Options"] = []string{"nosniff"}

	path, known := router.Canonical(r.URL)
	if s.api != nil && isBelow(path.Path, "/v3") {
		call = true
		if !s.applyCORS(c, path.Path) {
			s.serveAPI(c, path, known)
		}
		return
	}
	if s.console != nil && isBelow(path.Path, console.Root) {
		s.servePage(c, path, known)
		return
	}
	// A redirect gets no deadline here. Its waits have deadlines of their own, and another one
	// would cost time in each of the many redirects.
	if path != r.URL {
		if short, ok := shortlink.Address(r.URL); ok {
			path, known = short, true
		}
		rename(c, path)
	}
	defer s.recoverPanic(c, redirect.WriteFailure)
	if err := s.serve(s.short, c, known); err != nil {
		redirect.WriteFailure(c, response.Report(c, s.cfg.Logger, err))
	}
}

// rename replaces the URL of the request. net/http keeps the original request, so rename changes a
// copy.
func rename(c *request.Context, path *url.URL) {
	c.Request = c.Request.WithContext(c.Context())
	c.Request.URL = path
}

// isBelow reports whether path is root or lies below root.
func isBelow(path, root string) bool { return path == root || strings.HasPrefix(path, root+"/") }

// serveOwnCall serves a call of the API that a page of the console makes, as a part of the request
// for that page.
func (s *Server) serveOwnCall(w http.ResponseWriter, r *http.Request) {
	c := request.New(w, r)
	c.Own = true
	defer s.recoverPanic(c, writeAPIFailure)
	path, known := router.Canonical(r.URL)
	c.Request.URL = path
	if err := s.serve(s.api, c, known); err != nil {
		writeAPIFailure(c, response.Report(c, s.cfg.Logger, err))
	}
}

// servePage serves a page of the console within Config.RequestTimeout.
func (s *Server) servePage(c *request.Context, path *url.URL, known bool) {
	rename(c, path)
	defer c.Begin(s.cfg.RequestTimeout)()
	defer s.recoverPanic(c, s.pages.WriteFailure)
	if err := s.serve(s.console, c, known); err != nil {
		s.pages.WriteFailure(c, response.Report(c, s.cfg.Logger, err))
	}
}

// serveAPI serves a call of the API within Config.RequestTimeout.
func (s *Server) serveAPI(c *request.Context, path *url.URL, known bool) {
	rename(c, path)
	c.OverrideMethod()
	defer c.Begin(s.cfg.RequestTimeout)()
	defer s.recoverPanic(c, writeAPIFailure)
	if err := s.serve(s.api, c, known); err != nil {
		writeAPIFailure(c, response.Report(c, s.cfg.Logger, err))
	}
}

func (s *Server) serve(routes *router.Router, c *request.Context, known bool) error {
	if s.cfg.BaseURL == "" && !shortlink.ValidHost(c.Request.Host) {
		return &apierror.Error{
			Code: apierror.CodeWrongInput, Details: "The Host header does not name a host",
		}
	}
	if routes == nil || !known {
		return &apierror.Error{Code: apierror.CodeInvalidResource}
	}
	if err := s.awaitTables(c); err != nil {
		return err
	}
	return routes.ServeHTTPError(c, c.Request)
}

// awaitTables waits until the read models have the tables of this version, for WaitTimeout at most.
func (s *Server) awaitTables(c *request.Context) error {
	if s.cfg.Served == nil {
		return nil
	}
	select {
	case <-s.cfg.Served:
		return nil
	default:
	}
	late := time.NewTimer(s.cfg.WaitTimeout)
	defer late.Stop()
	select {
	case <-s.cfg.Served:
		return nil
	case <-c.Context().Done():
		return c.Context().Err()
	case <-late.C:
		return apierror.Late("The service was upgraded and builds its read models: repeat the " +
			"call later. The operator sees the progress at /health/ready.")
	}
}

// recoverPanic writes a failure if the handler panicked. If the response has begun, it closes the
// connection instead, so that the client does not take a partial response for a complete one.
func (s *Server) recoverPanic(c *request.Context, answer func(*request.Context, apierror.Failure)) {
	value := recover()
	if value == nil {
		return
	}
	if value == http.ErrAbortHandler { //nolint:errorlint // net/http compares the value itself
		panic(value)
	}
	f := response.ReportPanic(c, s.cfg.Logger, value)
	if c.Status != 0 {
		panic(http.ErrAbortHandler)
	}
	answer(c, f)
}

// observe reports a request to Config.Observe and to the log. The values for Observe come from
// small sets, so that they can label metrics.
func (s *Server) observe(c *request.Context, call bool, start time.Time) {
	took := time.Since(start)
	s.cfg.Observe(c.KnownMethod(), c.Route, cmp.Or(c.Status, http.StatusOK), took)
	if s.cfg.LogRequests == LogAll || s.cfg.LogRequests == LogAPI && call {
		s.logRequest(c, took)
	}
}

func (s *Server) logRequest(c *request.Context, took time.Duration) {
	s.cfg.Logger.InfoContext(c.Context(), "request",
		slog.String("method", c.KnownMethod()), slog.String("route", c.Route),
		slog.Int("status", c.Status),
		slog.Duration("duration", took), slog.String("request", c.ID),
		slog.String("account", c.Account.Username))
}

// writeAPIFailure writes the failure of an API call.
func writeAPIFailure(c *request.Context, f apierror.Failure) { response.WriteFailure(c, f) }
