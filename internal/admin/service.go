package admin

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"time"

	"linkledger/commands/clicks"
	"linkledger/events/eventstore"
	"linkledger/internal/clockcheck"
	"linkledger/projections/connection"
	"linkledger/projections/engine/status"
	"linkledger/projections/readmodel"
)

// Service is what the internal address shows of a service.
type Service struct {
	Stopping context.Context //nolint:containedctx // a service that stops is no longer ready
	Store    *eventstore.Store
	DB       *readmodel.DB
	Disk     *connection.Disk // of the database
	// Projections has the state of the projections that this process runs.
	Projections *status.Registry

	Clicks  *clicks.Recorder
	Spooled bool            // the process redirects, and clicks can wait in a spool
	API     bool            // the process serves the API
	Served  <-chan struct{} // closed once the read models have the tables of this version
	MaxLag  time.Duration   // the service is not ready while a projection lags by more
	// SignIn returns what keeps people from signing in with OpenID Connect, or nil. offered reports
	// whether an issuer is configured.
	SignIn   func() (fault error, offered bool)
	Metrics  http.Handler
	Clocks   *clockcheck.Checker
	Console  http.Handler // of operators
	Building func() bool  // reports whether requests wait until the read models are built
	// Backup returns the state of the backups. It is nil if this process makes none.
	Backup    func() string
	Profiling bool // serve profiles
	Logger    *slog.Logger
}

// handler serves health, metrics, the console of operators and, if enabled, profiles.
func (s *Service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(
		"GET /health/live",
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
	)
	mux.HandleFunc("GET /health/ready", s.probe(s.ready))
	mux.HandleFunc("GET /health/ready/redirects", s.probe(s.forRedirects))
	mux.HandleFunc("GET /health/ready/reads", s.probe(s.forReads))
	mux.HandleFunc("GET /health/ready/writes", s.probe(s.forWrites))
	mux.Handle("GET /metrics", s.Metrics)
	mux.Handle("/console", s.Console)
	mux.Handle("/console/", s.Console)
	if s.Profiling {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	}
	return mux
}
