package admin

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"linkledger/internal/httpserver"
)

// Server serves the internal address from the start of a process to its end. Until there is a
// service, it reports the dependencies that the process waits for.
type Server struct {
	service atomic.Pointer[http.Handler]
	ctx     context.Context //nolint:containedctx // ends with the server; its cause says why
	closing func() error    // stops the server after the requests in flight
	mu      sync.Mutex
	waiting map[string]string // reason by dependency
}

// Serve starts a server on an open address.
func Serve(listener net.Listener, logger *slog.Logger) *Server {
	ctx, stop := context.WithCancelCause(context.Background())
	a := &Server{ctx: ctx, waiting: map[string]string{"process": "starting"}}
	ended := make(chan error, 1)
	go func() { ended <- httpserver.Serve(ctx, stop, a, listener, logger) }()
	a.closing = sync.OnceValue(func() error {
		stop(nil)
		return <-ended
	})
	return a
}

// SetService lets a service answer from now on.
func (a *Server) SetService(s *Service) {
	handler := s.handler()
	a.service.Store(&handler)
}

// Done is closed when the server has ended, by Close or by itself.
func (a *Server) Done() <-chan struct{} { return a.ctx.Done() }

// Err returns why the server has ended.
func (a *Server) Err() error { return context.Cause(a.ctx) }

// Close ends the server after the requests in flight.
func (a *Server) Close() error { return a.closing() }

// ReportDependency sets why a dependency cannot be used. A nil error means that it can be used.
func (a *Server) ReportDependency(dependency string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, dependency)
	if err != nil {
		a.waiting[dependency] = err.Error()
	}
}

// ServeHTTP implements http.Handler.
func (a *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if service := a.service.Load(); service != nil {
		(*service).ServeHTTP(w, r)
		return
	}
	if r.URL.Path == "/health/live" {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusServiceUnavailable)
	_ = json.NewEncoder(w).Encode(a.waiting) // an error means that the client has left
}
