package storeserver

import (
	"context"
	"errors"
	"log/slog"

	"linkledger/internal/address"
	"linkledger/internal/httpserver"
	"linkledger/waiting"
)

// Run serves a store until ctx ends or the store fails. If c.HealthListen is not empty, Run serves
// the health of the store there. The configuration MUST have passed Check.
func Run(ctx context.Context, c Config, logger *slog.Logger) error {
	config, err := c.embedded(logger)
	if err != nil {
		return err
	}
	listener, err := address.Listen(c.Listen, "listen")
	if err != nil {
		return err
	}
	// Check has looked the host name up before. The name may have another address by now.
	if err := c.checkReach(listener.Addr().String()); err != nil {
		return errors.Join(err, listener.Close())
	}
	store, err := Start(waiting.WithReport(ctx, waiting.LogTo(logger)), config, listener)
	if err != nil {
		return err
	}
	logger.InfoContext(
		ctx, "event store is ready", slog.String("url", store.url()), slog.String("data", c.Dir),
	)
	if c.User == "" {
		logger.WarnContext(ctx, "the event store has no password: all who can connect to it, "+
			"which includes every user of this machine, can read and write all events",
			slog.String("listen", listener.Addr().String()))
	}
	if c.NoSync {
		logger.WarnContext(ctx, "events are not synced: a crash loses some")
	}
	if c.HealthListen == "" {
		store.wait(ctx)
		return store.Stop()
	}
	health, err := address.Listen(c.HealthListen, "health-listen")
	if err != nil {
		return errors.Join(err, store.Stop())
	}
	logger.InfoContext(
		ctx, "health is served",
		slog.String("url", "http://"+address.ForClient(health)+"/health/live"),
	)
	ctx, stop := context.WithCancelCause(ctx)
	go func() {
		store.wait(ctx)
		stop(nil)
	}()
	return errors.Join(
		httpserver.Serve(ctx, stop, store.healthHandler(), health, logger), store.Stop(),
	)
}
