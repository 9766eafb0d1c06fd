package app

// This file serves the public address from the start of a process. So a request that arrives before
// the service runs waits for a bounded time only.

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"sync"

	"linkledger/httpapi"
	"linkledger/httpapi/shortlink"
	"linkledger/internal/config"
	"linkledger/internal/httpserver"
)

// Public is the public address of a process. Until a service runs, requests wait for it, and get
// status 503 if that takes too long.
type Public struct {
	gate    *httpapi.Gate
	ctx     context.Context //nolint:containedctx // ends with the server; its cause says why
	closing func() error    // stops the server after the requests in flight
}

// ServePublic serves an open address for the roles of a process. It closes the address if no role
// needs it.
func ServePublic(listener net.Listener, roles []config.Role, logger *slog.Logger) *Public {
	redirects := slices.Contains(roles, config.RoleRedirect)
	if !redirects && !slices.Contains(roles, config.RoleAPI) {
		ctx := context.Background()
		_ = listener.Close() // never used
		return &Public{
			gate: httpapi.NewGate(ctx, logger), ctx: ctx, closing: func() error { return nil },
		}
	}
	ctx, stop := context.WithCancelCause(context.Background())
	p := &Public{gate: httpapi.NewGate(ctx, logger), ctx: ctx}
	ended := make(chan error, 1)
	go func() {
		if redirects {
			ended <- httpserver.ServeFast(ctx, stop, p.gate, shortlink.IsPath, listener, logger)
			return
		}
		ended <- httpserver.Serve(ctx, stop, p.gate, listener, logger)
	}()
	p.closing = sync.OnceValue(func() error {
		stop(nil)
		return <-ended
	})
	return p
}

// Drain asks the clients to leave before Close. From then on each answer is the last one of its
// connection, but new connections are still accepted.
func (p *Public) Drain() { p.gate.Drain() }

// Close ends the server after the requests in flight.
func (p *Public) Close() error { return p.closing() }
