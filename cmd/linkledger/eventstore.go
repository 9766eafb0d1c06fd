package main

import (
	"context"
	"errors"
	"log/slog"
	"net"

	"linkledger/events/embedded"
)

// eventstoreCommand runs the embedded event store alone.
type eventstoreCommand struct {
	Data   string `help:"Folder of the log." default:"./data/events" validate:"required"`
	Listen string `help:"Address of the gRPC interface." default:"127.0.0.1:2113" validate:"address"`
}

// Run implements the command.
func (c *eventstoreCommand) Run(ctx context.Context, p *process) error {
	if err := validate(c); err != nil {
		return err
	}
	listener, err := listen(c.Listen, "listen")
	if err != nil {
		return err
	}
	store, err := startEventStore(p, c.Data, listener)
	if err != nil {
		return err
	}
	p.logger.InfoContext(ctx, "event store is ready", slog.String("url", store.url()), slog.String("data", c.Data))
	select {
	case <-ctx.Done():
	case <-store.ended:
	}
	return store.stop()
}

// runningStore is an embedded event store that serves.
type runningStore struct {
	store    *embedded.Store
	listener net.Listener
	ended    chan struct{} // closed when serving has ended
	err      error         // why; valid once ended is closed
}

func startEventStore(p *process, folder string, listener net.Listener) (*runningStore, error) {
	store, err := embedded.Open(embedded.Config{Dir: folder, Logger: p.logger})
	if err != nil {
		return nil, usageError{errors.Join(err, listener.Close())}
	}
	r := &runningStore{store: store, listener: listener, ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		r.err = store.Serve(listener)
	}()
	return r, nil
}

func (r *runningStore) url() string { return "esdb://" + clientAddress(r.listener) + "?tls=false" }

func (r *runningStore) stop() error {
	err := r.store.Close()
	<-r.ended
	return errors.Join(r.err, err)
}
