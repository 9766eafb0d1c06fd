package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// adminServer serves the internal address from the first moment of a process to its last. Until there is a service it
// answers what that waits for.
type adminServer struct {
	service atomic.Pointer[http.Handler]
	ctx     context.Context //nolint:containedctx // ends with the server; its cause says why
	closing func() error    // what is under way ends first
	mu      sync.Mutex
	waiting map[string]string // by dependency: why it can't be used
}

// serveAdmin starts to answer on an open address.
func serveAdmin(listener net.Listener, logger *slog.Logger) *adminServer {
	ctx, stop := context.WithCancelCause(context.Background())
	a := &adminServer{ctx: ctx, waiting: map[string]string{"process": "starting"}}
	ended := make(chan error, 1)
	go func() { ended <- serveHTTP(ctx, stop, a, listener, logger) }()
	a.closing = sync.OnceValue(func() error {
		stop(nil)
		return <-ended
	})
	return a
}

// show has a service answer from now on.
func (a *adminServer) show(s *Service) {
	handler := s.handler()
	a.service.Store(&handler)
}

// done is closed when the server has ended, with close or by itself.
func (a *adminServer) done() <-chan struct{} { return a.ctx.Done() }

// err is why the server has ended.
func (a *adminServer) err() error { return context.Cause(a.ctx) }

// close ends the server when what is under way has ended.
func (a *adminServer) close() error { return a.closing() }

// note tells why a dependency can't be used; nil: it can.
func (a *adminServer) note(dependency string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, dependency)
	if err != nil {
		a.waiting[dependency] = err.Error()
	}
}

// ServeHTTP implements http.Handler.
func (a *adminServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
