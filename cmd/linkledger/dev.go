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
	"linkledger/httpapi"
	"linkledger/internal/pgserver"
	"linkledger/projections"
)

const (
	demoUser = "demo"
	// defaultData is the default of --data.
	defaultData = "./data"
	freePlan    = "free"
)

// devCommand runs everything in one process, on one folder.
type devCommand struct {
	listeners
	redirecting
	projecting
	CORSOrigins      origins `name:"cors-origins" help:"Origins whose pages may call the API from a browser, such as https://app.example.com, or * for all. They are compared exactly. Empty: none." default:"*" placeholder:"ORIGINS" validate:"origins"`
	Data             string  `help:"Folder of all data." default:"./data" validate:"required"`
	EventstoreListen string  `help:"Address of the embedded event store." default:"127.0.0.1:2113" validate:"address"`
	PostgresBin      string  `help:"Folder of PostgreSQL's initdb and postgres, where they are not in the usual places." placeholder:"DIR"`
}

// Run implements the command. What is started last stops first.
func (c *devCommand) Run(ctx context.Context, p *process) (err error) {
	if err := validate(c); err != nil {
		return err
	}
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
	access, err := devStoreAccess(c.Data, storeNames(open.events, c.EventstoreListen))
	if err != nil {
		return err
	}
	store, err := startEventStore(ctx, embedded.Config{
		Dir: filepath.Join(c.Data, "events"), TLS: access.tlsConfig(), User: storeUser, Password: string(access.password), Logger: p.logger,
	}, open.events)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.stop()) }()
	database, err := pgserver.Start(ctx, pgserver.Config{
		Dir: filepath.Join(c.Data, "postgres"), BinDir: c.PostgresBin,
	})
	if err != nil {
		return usageError{err}
	}
	defer func() {
		deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
		defer cancel()
		err = errors.Join(err, database.Stop(deadline))
	}()
	running := runningDev{EventStore: access.url(clientAddress(open.events)), Database: connection(database.DSN())}
	if err := running.save(c.Data); err != nil {
		return usageError{err}
	}
	defer func() { err = errors.Join(err, removeRunning(c.Data)) }()

	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	watch(ctx, stop, "event store", store.ended, func() error { return store.err })
	watch(ctx, stop, "PostgreSQL", database.Done(), database.Err)
	// The service itself reaches the store through memory.
	running.EventStore = connection("esdb://" + clientAddress(open.events) + "?tls=false")
	return c.serve(ctx, stop, p, running, key, store.store.Dialer(), open)
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

func (c *devCommand) serve(
	ctx context.Context, stop context.CancelCauseFunc, p *process, running runningDev, key secret,
	dialStore func(context.Context) (net.Conn, error), open *devListeners,
) (err error) {
	base := c.BaseURL
	if base == "" {
		base = "http://" + clientAddress(open.public)
	}
	admin := serveAdmin(open.admin, p.logger)
	defer func() { err = errors.Join(err, admin.close()) }()
	s, err := openService(ctx, p, admin, serviceConfig{
		eventStore: running.EventStore, dialStore: dialStore, database: running.Database, sealing: sealing{MasterKey: key}, baseURL: base,
		roles:  []role{roleAPI, roleRedirect, roleProjector},
		traces: c.Traces, logRequests: httpapi.RequestLog(c.LogRequests), blockedHosts: c.BlockedHosts, plans: c.Plans, profiling: c.Profiling,
		origins: c.CORSOrigins, drainDelay: c.DrainDelay, redirecting: c.inFolder(filepath.Join(c.Data, "spool")),
		projecting: c.projecting,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, within(s.close)) }()
	head, err := s.store.Head(ctx)
	if err != nil {
		return err
	}
	var greeted sync.WaitGroup
	defer greeted.Wait()
	defer stop(nil)
	greeted.Go(func() {
		if err := c.greet(ctx, p, s, head, base, open); err != nil {
			stop(err)
		}
	})
	return s.run(ctx, open.public, admin)
}

// greet opens the demo account on the first start, waits until the read models have caught up with the log, and tells
// the user what runs where.
func (c *devCommand) greet(ctx context.Context, p *process, s *service, head eventstore.Position, base string, open *devListeners) error {
	demo, err := s.accounts.Open(ctx, domain.Request{Command: uuid.New(), ID: uuid.NewString()}, demoUser, freePlan)
	if refused, ok := errors.AsType[*domain.Error](err); ok && refused.Kind == domain.InvalidUsername {
		err = nil // not the first start
	}
	if err != nil {
		return fmt.Errorf("open the demo account: %w", err)
	}
	if err := s.catchUp(ctx, head); err != nil {
		return err
	}
	if err := s.fresh.Wait(ctx, projections.Accounts, demo.Position.Commit); err != nil {
		return fmt.Errorf("wait for the demo account: %w", err)
	}
	of := "" // where commands find this dev, if not by themselves
	if c.Data != defaultData {
		of = " --data " + c.Data
	}
	return greeting.Execute(p.stdout, map[string]string{
		"Base": base, "Admin": "http://" + clientAddress(open.admin), "Store": printedStoreURL(c.Data, clientAddress(open.events)),
		"Data": c.Data, "User": demoUser, "Key": demo.Key, "Of": of,
	})
}
