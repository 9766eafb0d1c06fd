package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/google/uuid"

	"linkledger/commands/domain"
	"linkledger/events/embedded"
	"linkledger/events/eventstore"
	"linkledger/internal/pgserver"
	"linkledger/projections"
)

const (
	demoUser = "demo"
	// defaultData is where operator commands look for a dev.
	defaultData = "./data"
	freePlan    = "free"
)

// devConfig of an installation in one process.
type devConfig struct {
	listeners
	redirecting
	projecting
	Origins          origins
	Data             string // folder of all data
	EventStoreListen string
	PostgresBin      string // folder of PostgreSQL's programs; empty: the usual places
	Version          string // of the program
	Getenv           func(string) string
}

// runDev runs everything until ctx ends or a part fails, and prints what runs where. What is started last stops first.
func runDev(ctx context.Context, c devConfig, out Console) (err error) {
	open, err := c.listen()
	if err != nil {
		return err
	}
	defer open.close()
	if err := os.MkdirAll(c.Data, 0o755); err != nil { //nolint:gosec // the folders within keep their own secrets
		return usage("cannot create the data folder: %w; choose another with --data (%s)", err, envName("data"))
	}
	if err := checkDataFolder(c.Data); err != nil {
		return err
	}
	key, err := devMasterKey(c.Data)
	if err != nil {
		return err
	}
	access, err := devStoreAccess(c.Data, storeNames(open.events, c.EventStoreListen))
	if err != nil {
		return err
	}
	store, err := startEventStore(ctx, embedded.Config{
		Dir: filepath.Join(c.Data, "events"), TLS: access.tlsConfig(), User: storeUser, Password: string(access.password), Logger: out.Logger,
	}, open.events)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.stop()) }()
	database, err := pgserver.Start(ctx, pgserver.Config{
		Dir: filepath.Join(c.Data, "postgres"), BinDir: c.PostgresBin,
	})
	if err != nil {
		return usageError(err)
	}
	defer func() {
		deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
		defer cancel()
		err = errors.Join(err, database.Stop(deadline))
	}()
	running := runningDev{EventStore: access.url(clientAddress(open.events)), Database: connection(database.DSN())}
	if err := running.save(c.Data); err != nil {
		return usageError(err)
	}
	defer func() { err = errors.Join(err, removeRunning(c.Data)) }()

	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	watch(ctx, stop, "event store", store.done(), store.failure)
	watch(ctx, stop, "PostgreSQL", database.Done(), database.Err)
	// The service itself reaches the store through memory.
	running.EventStore = connection("esdb://" + clientAddress(open.events) + "?tls=false")
	return c.serve(ctx, stop, out, running, key, store.dialer(), open)
}

// watch stops everything when a part has ended by itself.
func watch(ctx context.Context, stop context.CancelCauseFunc, name string, ended <-chan struct{}, reason func() error) {
	go func() {
		select {
		case <-ctx.Done():
		case <-ended:
			stop(fmt.Errorf("%s has ended by itself: %w", name, cmp.Or(reason(), errors.New("without an error"))))
		}
	}()
}

func (c devConfig) serve(
	ctx context.Context, stop context.CancelCauseFunc, out Console, running runningDev, key secret,
	dialStore func(context.Context) (net.Conn, error), open *devListeners,
) (err error) {
	if c.BaseURL == "" {
		c.BaseURL = "http://" + clientAddress(open.public)
	}
	admin := serveAdmin(open.admin, out.Logger)
	defer func() { err = errors.Join(err, admin.close()) }()
	s, err := openProgram(ctx, Config{
		listeners: c.listeners, redirecting: c.inFolder(filepath.Join(c.Data, "spool")), projecting: c.projecting,
		backends:  backends{EventStore: running.EventStore, Database: running.Database, sealing: sealing{MasterKey: key}},
		DialStore: dialStore, Origins: c.Origins, Roles: []role{roleAPI, roleRedirect, roleProjector},
		Version: c.Version, Getenv: c.Getenv, Logger: out.Logger,
	}, admin)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	head, err := s.Store.Head(ctx)
	if err != nil {
		return err
	}
	var greeted sync.WaitGroup
	defer greeted.Wait()
	defer stop(nil)
	greeted.Go(func() {
		if err := c.greet(ctx, out, s, head, open); err != nil {
			stop(err)
		}
	})
	return s.run(ctx, open.public, admin)
}

// greet opens the demo account on the first start, waits until the read models have caught up with the log, and tells
// the user what runs where.
func (c devConfig) greet(ctx context.Context, out Console, s *Program, head eventstore.Position, open *devListeners) error {
	demo, err := s.Commands.OpenAccount(ctx, domain.Request{Command: uuid.New(), ID: uuid.NewString()}, demoUser, freePlan)
	if refused, ok := errors.AsType[*domain.Error](err); ok && refused.Kind == domain.InvalidUsername {
		err = nil // not the first start
	}
	if err != nil {
		return fmt.Errorf("open the demo account: %w", err)
	}
	if err := s.catchUp(ctx, head); err != nil {
		return err
	}
	if err := s.Waiter.Wait(ctx, projections.Accounts, demo.Position.Commit); err != nil {
		return fmt.Errorf("wait for the demo account: %w", err)
	}
	of := "" // where commands find this dev, if not by themselves
	if c.Data != defaultData {
		of = " --data " + c.Data
	}
	return greeting.Execute(out.Stdout, map[string]string{
		"Base": c.BaseURL, "Admin": "http://" + clientAddress(open.admin), "Store": printedStoreURL(c.Data, clientAddress(open.events)),
		"Data": c.Data, "User": demoUser, "Key": demo.Key, "Of": of,
	})
}
