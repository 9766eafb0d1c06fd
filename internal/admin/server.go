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

// Server serves the internal address from the first moment of a process to its last. Until there is
// a service it answers what that waits for.
type Server struct {
	service atomic.Pointer[http.Handler]
	ctx     context.Context //nolint:containedctx // ends with the server; its cause says why
	closing func() error    // what is under way ends first
	mu      sync.Mutex
	waiting map[string]string // by dependency: why it can't be used
}

// Serve starts to answer on an open address.
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

// SetService has a service answer from now on.
func (a *Server) SetService(s *Service) {
	handler := s.handler()
	a.service.Store(&handler)
}

// Done is closed when the server has ended, with close or by itself.
func (a *Server) Done() <-chan struct{} { return a.ctx.Done() }

// Err is why the server has ended.
func (a *Server) Err() error { return context.Cause(a.ctx) }

// Close ends the server when what is under way has ended.
func (a *Server) Close() error { return a.closing() }

// ReportDependency tells why a dependency can't be used; nil: it can.
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
	_ = json.NewEncoder(w).Encode(a.waiting) // whoever asked has left
}
