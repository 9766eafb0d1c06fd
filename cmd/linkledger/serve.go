package main

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"

	"github.com/alecthomas/kong"

	"linkledger/cmd/linkledger/internal/command"
	"linkledger/internal/address"
	"linkledger/internal/admin"
	"linkledger/internal/app"
	"linkledger/internal/backups"
	"linkledger/internal/config"
	"linkledger/internal/usage"
)

// serveCommand runs the service with backends that run elsewhere.
type serveCommand struct {
	config.Serving
	config.Redirecting
	config.Projecting
	config.Backends
	config.BackingUp
	BackupEvents string `help:"${serve_backup_events}" placeholder:"DIR"`

	CORSOrigins config.Origins `help:"${cors}" placeholder:"ORIGINS" validate:"origins"`
	Roles       []config.Role  `help:"${roles}" default:"api,redirect,projector" validate:"roles"`
}

// Run runs the service until ctx ends.
func (c *serveCommand) Run(
	ctx context.Context, p *command.Process, call *kong.Context,
) (err error) {
	if err := c.check(); err != nil {
		return err
	}
	redirecting := c.WithSpool(filepath.Join("data", "spool"))
	if err := makeDefaultFolder(redirecting.Spool, filepath.Join("data", "spool")); err != nil {
		return err
	}
	public, err := address.Listen(c.Listen, "listen")
	if err != nil {
		return err
	}
	private, err := address.Listen(c.AdminListen, "admin-listen")
	if err != nil {
		return errors.Join(err, public.Close())
	}
	served := app.ServePublic(public, c.Roles, p.Logger)
	defer func() { err = errors.Join(err, served.Close()) }()
	internal := admin.Serve(private, p.Logger)
	defer func() { err = errors.Join(err, internal.Close()) }()
	cfg := app.Config{
		Serving: c.Serving, Backends: c.Backends,
		Redirecting: redirecting, Projecting: c.Projecting,
		Origins: c.CORSOrigins, Roles: c.Roles, Version: version,
		Settings: settings(call), Getenv: p.Getenv, Logger: p.Logger, LostLines: p.Lost,
	}
	if c.Backup != "" {
		cfg.Backups = backups.NewSchedule(backups.ScheduleConfig{
			BackingUp: c.BackingUp, Events: c.BackupEvents, Version: version, Logger: p.Logger,
		})
	}
	s, err := app.Open(ctx, cfg, internal)
	if err != nil {
		if ctx.Err() != nil { // stopped while it waited for a backend
			return nil
		}
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	p.Logger.InfoContext(ctx, "serving",
		slog.String("listen", public.Addr().String()),
		slog.String("admin", private.Addr().String()), slog.Any("roles", c.Roles))
	return s.Run(ctx, served, internal)
}

func (c *serveCommand) check() error {
	if c.Eventstore == "" {
		return usage.Errorf(
			"no event store: set --eventstore (%s) to esdb://HOST:2113?tls=false, or use "+
				"linkledger dev",
			usage.Env("eventstore"),
		)
	}
	if c.Database == "" {
		return usage.Errorf(
			"no database: set --database (%s) to postgres://USER:PASSWORD@HOST/DATABASE, or use "+
				"linkledger dev",
			usage.Env("database"),
		)
	}
	if (c.Backup == "") != (c.BackupEvents == "") {
		return usage.Errorf("--backup (%s) and --backup-events (%s) go together: a backup is made "+
			"of the folder of the embedded event store, which must be on this machine. "+
			"EventStoreDB, and a store on another machine, are backed up by their own means: see "+
			"docs/backup-and-upgrade.md", usage.Env("backup"), usage.Env("backup-events"))
	}
	return config.Validate(c)
}
