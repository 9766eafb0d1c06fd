package storeserver

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"

	"linkledger/events/embedded"
	"linkledger/internal/address"
	"linkledger/internal/usage"
)

// Server is an embedded event store that serves.
type Server struct {
	store    *embedded.Store
	listener net.Listener
	secure   bool
	admin    *socketServer
	ended    chan struct{} // closed when serving has ended
	err      error         // why; valid once ended is closed
}

// Start opens a store and serves it on an open address.
func Start(ctx context.Context, config embedded.Config, listener net.Listener) (*Server, error) {
	store, err := embedded.Open(config)
	if err != nil {
		return nil, usage.Wrap(errors.Join(err, listener.Close()))
	}
	if err := restrictFolder(config.Dir); err != nil {
		config.Logger.WarnContext(
			ctx, "other users of the machine can enter the folder of the event store",
			slog.Any("error", err),
		)
	}
	r := &Server{
		store: store, listener: listener, secure: config.TLS != nil, ended: make(chan struct{}),
	}
	if r.admin, err = serveSocket(ctx, store, config.Dir); err != nil {
		config.Logger.WarnContext(
			ctx, "stat, check and backup must wait until the event store is stopped",
			slog.Any("error", err),
		)
	}
	go func() {
		defer close(r.ended)
		r.err = store.Serve(listener)
	}()
	return r, nil
}

// restrictFolder takes from the folder of a store what users may do that are neither its owner nor
// of its group. A new one is made closed.
func restrictFolder(folder string) error {
	info, err := os.Stat(folder)
	if err != nil || info.Mode().Perm()&0o007 == 0 {
		return err
	}
	return os.Chmod(folder, info.Mode()&^0o007)
}

// url is a connection string without a password, for clients on this machine.
func (r *Server) url() string {
	security := "?tls=false"
	if r.secure {
		security = "?tls=true"
	}
	return "esdb://" + address.ForClient(r.listener) + security
}

// Stop ends the store, and returns why it has ended where it did by itself.
func (r *Server) Stop() error {
	err := r.store.Close()
	<-r.ended
	r.admin.stop()
	if errors.Is(r.err, embedded.ErrClosed) { // closed before it served
		return err
	}
	return errors.Join(r.err, err)
}

// Dialer connects to the store through memory.
func (r *Server) Dialer() func(context.Context) (net.Conn, error) { return r.store.Dialer() }

// Done is closed when serving has ended.
func (r *Server) Done() <-chan struct{} { return r.ended }

// Failure is why serving has ended. It is valid once done is closed.
func (r *Server) Failure() error { return r.err }

// healthHandler answers as EventStoreDB does: 204 while the store takes writes, else 503.
func (r *Server) healthHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health/live", func(w http.ResponseWriter, _ *http.Request) {
		if r.store.Stat().Failure != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	return mux
}

// wait returns when ctx ends or the store does.
func (r *Server) wait(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-r.ended:
	}
}
