package httpserver

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
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
)

// ServeFast is like Serve, and answers requests for paths for which fast returns true on the fast
// path.
func ServeFast(
	ctx context.Context, fail context.CancelCauseFunc, handler http.Handler,
	fast func(path string) bool, public net.Listener, logger *slog.Logger,
) error {
	visits := fastpath.Listen(public, fastpath.Config{
		Handler: handler, Eligible: fast,
		HeadTimeout: headTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		ErrorLog: errorLog(logger),
	})
	drained := drainAfter(ctx, visits.Shutdown)
	return errors.Join(Serve(ctx, fail, handler, visits, logger), <-drained)
}

// Serve serves until ctx ends, then lets the requests in flight finish.
func Serve(
	ctx context.Context, fail context.CancelCauseFunc, handler http.Handler, listener net.Listener,
	logger *slog.Logger,
) error {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headTimeout,
		ReadTimeout:       requestTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		// Some clients put the JSON of their last call into the query of the next one.
		MaxHeaderBytes: 128 << 10,
		ErrorLog:       errorLog(logger),
	}
	drained := drainAfter(ctx, func(ctx context.Context) error {
		err := server.Shutdown(ctx)
		if err != nil {
			err = errors.Join(err, server.Close())
		}
		return err
	})
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		fail(fmt.Errorf("serve %s: %w", listener.Addr(), err))
	}
	return <-drained
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
