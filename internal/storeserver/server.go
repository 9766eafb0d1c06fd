package storeserver

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"

	"linkledger/events/embedded"
	"linkledger/internal/address"
	"linkledger/internal/usage"
	"linkledger/waiting"
)

// Server is a running embedded event store.
type Server struct {
	config   embedded.Config
	listener net.Listener // stays open while the store is opened again
	secure   bool
	admin    *socketServer
	stopping context.Context //nolint:containedctx // ends with Stop
	cancel   context.CancelFunc
	ended    chan struct{} // closed when serving has ended
	err      error         // why serving has ended; valid once ended is closed

	mu    sync.Mutex
	store *embedded.Store
	dial  func(context.Context) (net.Conn, error) // connects to store through memory
}

// Start opens a store and serves it on an open address.
func Start(ctx context.Context, config embedded.Config, listener net.Listener) (*Server, error) {
	var store *embedded.Store
	err := waiting.During(ctx, "event store in "+config.Dir, nil,
		func(context.Context) (err error) {
			store, err = embedded.Open(config)
			return err
		})
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
		config: config, listener: listener, secure: config.TLS != nil,
		ended: make(chan struct{}), store: store, dial: store.Dialer(),
	}
	r.stopping, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if r.admin, err = serveSocket(ctx, r.current, config.Dir); err != nil {
		config.Logger.WarnContext(
			ctx, "stat, check and backup must wait until the event store is stopped",
			slog.Any("error", err),
		)
	}
	go func() {
		defer close(r.ended)
		r.err = errors.Join(r.run(store), listener.Close())
	}()
	return r, nil
}

// restrictFolder removes all rights of other users from the folder of a store. It keeps the rights
// of the owner and the group. A new folder gives other users no rights.
func restrictFolder(folder string) error {
	info, err := os.Stat(folder)
	if err != nil || info.Mode().Perm()&0o007 == 0 {
		return err
	}
	return os.Chmod(folder, info.Mode()&^0o007)
}

// url returns a connection string without a password, for clients on this machine.
func (r *Server) url() string {
	security := "?tls=false"
	if r.secure {
		security = "?tls=true"
	}
	return "esdb://" + address.ForClient(r.listener) + security
}

// Stop closes the store. If serving has failed before, the error says why.
func (r *Server) Stop() error {
	r.cancel()
	err := r.current().Close()
	<-r.ended
	r.admin.stop()
	if errors.Is(r.err, embedded.ErrClosed) { // Close came before Serve
		return err
	}
	return errors.Join(r.err, err)
}

// Dialer returns a function that connects to the store through memory.
func (r *Server) Dialer() func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		r.mu.Lock()
		dial := r.dial
		r.mu.Unlock()
		return dial(ctx)
	}
}

// current returns the store that is open, or was open last.
func (r *Server) current() *embedded.Store {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.store
}

// Done is closed when serving has ended.
func (r *Server) Done() <-chan struct{} { return r.ended }

// Failure returns why serving has ended. It is valid once Done is closed.
func (r *Server) Failure() error { return r.err }

// healthHandler answers /health/live as EventStoreDB does: 204. It answers /health/ready with 204
// while the store accepts writes, else with 503 and the reason.
func (r *Server) healthHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health/live", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /health/ready", func(w http.ResponseWriter, _ *http.Request) {
		if failure := r.current().Stat().Failure; failure != nil {
			http.Error(w, failure.Error(), http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	return mux
}

// wait returns when ctx ends or serving has ended.
func (r *Server) wait(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-r.ended:
	}
}
