package dev

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/domain"
	"linkledger/events/embedded"
	"linkledger/events/eventstore"
	"linkledger/internal/address"
	"linkledger/internal/admin"
	"linkledger/internal/app"
	"linkledger/internal/backups"
	"linkledger/internal/config"
	"linkledger/internal/console"
	"linkledger/internal/datafolder"
	"linkledger/internal/httpserver"
	"linkledger/internal/operators"
	"linkledger/internal/secret"
	"linkledger/internal/signinlink"
	"linkledger/internal/storeserver"
	"linkledger/internal/usage"
	"linkledger/projections"
	"linkledger/waiting"
)

const (
	demoUser = "demo"
	// defaultData is the data folder that operator commands use by default.
	defaultData = "./data"
	freePlan    = "free"
	// spareForDatabase is how many bytes of the disk the event store leaves to PostgreSQL, which
	// ends if it cannot write its log.
	spareForDatabase = 64 << 20
	// linkValidFor is how long the printed link to the console works.
	linkValidFor = time.Hour
)

// roles are the parts of the service that dev runs: all.
var roles = []config.Role{config.RoleAPI, config.RoleRedirect, config.RoleProjector}

// Config is the configuration of an installation in one process.
type Config struct {
	config.Serving
	config.Redirecting
	config.Projecting
	config.BackingUp
	Origins          config.Origins
	Data             string // folder of all data
	EventStoreListen string
	PostgresBin      string // folder of PostgreSQL's programs; empty for the usual places
	Version          string // version of the program
	Settings         []operators.Setting
	Getenv           func(string) string
}

// Run runs everything until ctx ends or a part fails, and prints the addresses. Parts stop in the
// reverse order of their start.
func Run(ctx context.Context, c Config, out console.Console) (err error) {
	ctx = waiting.WithReport(ctx, waiting.LogTo(out.Logger))
	open, err := c.listen()
	if err != nil {
		return err
	}
	defer open.close()
	public := app.ServePublic(open.public, roles, out.Logger)
	defer func() { err = errors.Join(err, public.Close()) }()
	//nolint:gosec // the folders within it protect their own secrets
	if err := os.Mkdir(c.Data, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return usage.Errorf(
			"cannot create the data folder: %w; choose another with --data (%s)", err,
			usage.Env("data"),
		)
	}
	if err := datafolder.Check(c.Data); err != nil {
		return err
	}
	key, err := datafolder.MasterKey(c.Data)
	if err != nil {
		return err
	}
	if c.SigningKey == "" {
		if c.SigningKey, err = datafolder.SigningKey(c.Data); err != nil {
			return err
		}
	}
	access, err := datafolder.OpenStoreAccess(
		c.Data, datafolder.StoreNames(open.events, c.EventStoreListen),
	)
	if err != nil {
		return err
	}
	store, err := storeserver.Start(ctx, embedded.Config{
		Dir: filepath.Join(c.Data, "events"), TLS: access.TLSConfig(), User: datafolder.StoreUser,
		Password: string(access.Password), Spare: spareForDatabase, Logger: out.Logger,
	}, open.events)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Stop()) }()
	database, err := c.startDatabase(ctx, key, out.Logger)
	if err != nil {
		return err
	}
	defer func() {
		deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), httpserver.DrainTimeout)
		defer cancel()
		err = errors.Join(err, database.Stop(deadline))
	}()
	if c.BaseURL == "" {
		c.BaseURL = "http://" + address.ForClient(open.public)
	}
	running := datafolder.Running{
		Console:    c.BaseURL,
		EventStore: access.URL(address.ForClient(open.events)),
		Database:   secret.Connection(database.DSN()),
	}
	if err := running.Save(c.Data); err != nil {
		return usage.Wrap(err)
	}
	defer func() { err = errors.Join(err, datafolder.RemoveRunning(c.Data)) }()

	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	watch(ctx, stop, "event store", store.Done(), store.Failure)
	watch(ctx, stop, "PostgreSQL", database.Done(), database.Err)
	schedule := backups.NewSchedule(backups.ScheduleConfig{
		BackingUp: c.BackingUp, Events: filepath.Join(c.Data, "events"),
		SigningKey: c.SigningKey, Version: c.Version, Logger: out.Logger,
	})
	// The service connects to the store through memory, so it needs no TLS.
	running.EventStore = secret.Connection(
		"esdb://" + address.ForClient(open.events) + "?tls=false",
	)
	return c.serve(ctx, stop, out, running, key, store.Dialer(), open, public, schedule)
}

// watch calls stop if a part ends before ctx does.
func watch(
	ctx context.Context, stop context.CancelCauseFunc, name string, ended <-chan struct{},
	reason func() error,
) {
	go func() {
		select {
		case <-ctx.Done():
		case <-ended:
			err := cmp.Or(reason(), errors.New("without an error"))
			stop(fmt.Errorf("%s has ended by itself: %w", name, err))
		}
	}()
}

// serve runs the service on the running backends.
func (c Config) serve(
	ctx context.Context, stop context.CancelCauseFunc, out console.Console,
	running datafolder.Running, key secret.Text,
	dialStore func(context.Context) (net.Conn, error), open *openListeners, public *app.Public,
	schedule *backups.Schedule,
) (err error) {
	internal := admin.Serve(open.admin, out.Logger)
	defer func() { err = errors.Join(err, internal.Close()) }()
	cfg := app.Config{
		Serving: c.Serving, Redirecting: c.WithSpool(filepath.Join(c.Data, "spool")),
		Projecting: c.Projecting,
		Backends: config.Backends{
			Eventstore: running.EventStore, Database: running.Database,
			Sealing: config.Sealing{MasterKey: key},
		},
		DialStore: dialStore, Origins: c.Origins,
		Roles:   roles,
		Version: c.Version, Settings: c.Settings, Getenv: c.Getenv, Logger: out.Logger,
		LostLines: out.Lost,
	}
	if schedule != nil {
		cfg.Backups = schedule
	}
	s, err := app.Open(ctx, cfg, internal)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	head, err := s.Store.Head(ctx)
	if err != nil {
		return err
	}
	if datafolder.Building(c.Data) {
		s.HoldUntil(head, func() error { return datafolder.EndBuild(c.Data) })
	}
	var greeted sync.WaitGroup
	defer greeted.Wait()
	defer stop(nil)
	greeted.Go(func() {
		if err := c.greet(ctx, out, s, head, open); err != nil {
			stop(err)
		}
	})
	return s.Run(ctx, public, internal)
}

// greet opens the demo account at the first start, waits until the read models have caught up with
// the log, and prints the greeting.
func (c Config) greet(
	ctx context.Context, out console.Console, s *app.Service, head eventstore.Position,
	open *openListeners,
) error {
	demo, err := s.Accounts.Open(
		ctx, domain.Request{Command: uuid.New(), ID: uuid.NewString()}, demoUser, freePlan,
	)
	if refused, ok := errors.AsType[*domain.Error](err); ok &&
		refused.Kind == domain.InvalidUsername {
		err = nil // the account exists: this is not the first start
	}
	if err != nil {
		return fmt.Errorf("open the demo account: %w", err)
	}
	if err := s.CatchUp(ctx, head); err != nil {
		return err
	}
	if err := s.Waiter.Wait(ctx, projections.Accounts, demo.Position.Commit); err != nil {
		return fmt.Errorf("wait for the demo account: %w", err)
	}
	terminal := console.IsTerminal(out.Stdout)
	var signIn signinlink.Link
	if terminal {
		signIn, err = s.SignInLink(
			ctx, signinlink.Wanted{Username: demoUser, Operator: true, ValidFor: linkValidFor},
		)
		if err != nil && !usage.Is(err) { // a usage error: no key may do everything
			return err
		}
	}
	of := "" // flag with which operator commands find this dev
	if c.Data != defaultData {
		of = " --data " + c.Data
	}
	return greeting.Execute(out.Stdout, map[string]any{
		"Terminal": terminal, "Base": c.BaseURL, "Admin": "http://" + address.ForClient(open.admin),
		"Store": datafolder.PrintedStoreURL(c.Data, address.ForClient(open.events)),
		"Data":  c.Data, "User": demoUser, "Key": demo.Key, "Of": of, "SignIn": signIn.Path,
	})
}
