package httpserver

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"linkledger/httpapi/fastpath"
)

// Limits of the HTTP servers.
const (
	headTimeout    = 5 * time.Second
	requestTimeout = 30 * time.Second
	writeTimeout   = 60 * time.Second
	idleTimeout    = 2 * time.Minute
	// DrainTimeout bounds the requests in flight after the server is stopped.
	DrainTimeout = 10 * time.Second
	// leaveTimeout is how long connections that are open when the server is stopped may still begin
	// a request.
	leaveTimeout = 2 * time.Second
)

// ServeFast is like Serve, but package fastpath serves the requests for whose path fast returns
// true.
func ServeFast(
	ctx context.Context, fail context.CancelCauseFunc, handler http.Handler,
	fast func(path string) bool, public net.Listener, logger *slog.Logger,
) error {
	visits := fastpath.Listen(public, fastpath.Config{
		Handler: handler, Eligible: fast,
		HeadTimeout: headTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		ErrorLog: errorLog(logger),
	})
	closed, setClosed := context.WithCancel(context.WithoutCancel(ctx))
	defer setClosed()
	drained := drainAfter(closed, visits.Shutdown)
	return errors.Join(serve(ctx, fail, handler, visits, setClosed, logger), <-drained)
}

// Serve serves until ctx ends, then lets the requests in flight finish. A client whose connection
// was accepted before the end of ctx does not know of the end yet. So it may still send a request
// on the connection, for leaveTimeout at most.
func Serve(
	ctx context.Context, fail context.CancelCauseFunc, handler http.Handler, listener net.Listener,
	logger *slog.Logger,
) error {
	return serve(ctx, fail, handler, listener, func() {}, logger)
}

// serve is like Serve, and calls closed once the listener is closed.
func serve(
	ctx context.Context, fail context.CancelCauseFunc, handler http.Handler, listener net.Listener,
	closed func(), logger *slog.Logger,
) error {
	open := connections{gone: make(chan struct{}, 1)}
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headTimeout,
		ReadTimeout:       requestTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		// Some clients put the JSON of their last call into the query of the next one.
		MaxHeaderBytes: 128 << 10,
		ErrorLog:       errorLog(logger),
		ConnState: func(conn net.Conn, state http.ConnState) {
			open.note(state)
			fastpath.Mend(conn, state)
		},
	}
	context.AfterFunc(ctx, func() {
		// Once new connections are refused, each answer is the last of its connection.
		server.SetKeepAlivesEnabled(false)
		_ = listener.Close() // server.Serve returns then
		closed()
	})
	if err := server.Serve(listener); ctx.Err() == nil {
		fail(fmt.Errorf("serve %s: %w", listener.Addr(), err))
	}
	open.await(leaveTimeout) // because Shutdown drops requests that it has not seen
	deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), DrainTimeout)
	defer cancel()
	if err := server.Shutdown(deadline); err != nil {
		return fmt.Errorf("requests did not end in time: %w", errors.Join(err, server.Close()))
	}
	return nil
}

// connections counts the open connections of a server.
type connections struct {
	open atomic.Int64
	gone chan struct{} // holds a token after the last one was closed
}

// note counts a connection by its new state.
func (c *connections) note(state http.ConnState) {
	switch state {
	case http.StateNew:
		c.open.Add(1)
	case http.StateHijacked, http.StateClosed:
		if c.open.Add(-1) == 0 {
			select {
			case c.gone <- struct{}{}:
			default:
			}
		}
	case http.StateActive, http.StateIdle:
	}
}

// await waits until no connection is open, for timeout at most.
func (c *connections) await(timeout time.Duration) {
	late := time.NewTimer(timeout)
	defer late.Stop()
	for c.open.Load() > 0 {
		select {
		case <-c.gone:
		case <-late.C:
			return
		}
	}
}

// drainAfter shuts a server down when ctx ends. The channel receives the result.
func drainAfter(ctx context.Context, shutdown func(context.Context) error) <-chan error {
	drained := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), DrainTimeout)
		defer cancel()
		err := shutdown(deadline)
		if err != nil {
			err = fmt.Errorf("requests did not end in time: %w", err)
		}
		drained <- err
	})
	return drained
}

func errorLog(logger *slog.Logger) *log.Logger {
	return slog.NewLogLogger(logger.Handler(), slog.LevelDebug)
}
