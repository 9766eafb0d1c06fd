package storeserver

import (
	"context"
	"errors"
	"log/slog"
	"net"

	"linkledger/events/embedded"
	"linkledger/internal/address"
	"linkledger/internal/httpserver"
)

// Run serves a store on an open address, and its health on another where one is given, until ctx ends or the store does.
func Run(ctx context.Context, config embedded.Config, listener net.Listener, healthListen string) error {
	logger := config.Logger
	store, err := Start(ctx, config, listener)
	if err != nil {
		return err
	}
	logger.InfoContext(ctx, "event store is ready", slog.String("url", store.url()), slog.String("data", config.Dir))
	if config.User == "" {
		logger.WarnContext(ctx, "the event store has no password: whoever can connect to it, every user of this machine too, "+
			"can read and write all events", slog.String("listen", listener.Addr().String()))
	}
	if config.NoSync {
		logger.WarnContext(ctx, "events are not synced: a crash loses some")
	}
	if healthListen == "" {
		store.wait(ctx)
		return store.Stop()
	}
	health, err := address.Listen(healthListen, "health-listen")
	if err != nil {
		return errors.Join(err, store.Stop())
	}
	logger.InfoContext(ctx, "health is served", slog.String("url", "http://"+address.OfClient(health)+"/health/live"))
	ctx, stop := context.WithCancelCause(ctx)
	go func() {
		store.wait(ctx)
		stop(nil)
	}()
	return errors.Join(httpserver.Serve(ctx, stop, store.healthHandler(), health, logger), store.Stop())
}
