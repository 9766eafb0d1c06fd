package main

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
)

// serveCommand runs the service against backends that run elsewhere.
type serveCommand struct {
	listeners
	redirecting
	projecting
	backends
	CORSOrigins origins `name:"cors-origins" help:"Origins whose pages may call the API from a browser: exact ones such as https://app.example.com, or * for all. By default none." placeholder:"ORIGINS" validate:"origins"`
	Roles       []role  `help:"What this process does: api, redirect, projector." default:"api,redirect,projector" validate:"min=1,dive,oneof=api redirect projector"`
}

// Run implements the command.
func (c *serveCommand) Run(ctx context.Context, p *process) (err error) {
	if err := c.check(); err != nil {
		return err
	}
	public, err := listen(c.Listen, "listen")
	if err != nil {
		return err
	}
	defer func() { _ = public.Close() }() // closed already when it was served
	internal, err := listen(c.AdminListen, "admin-listen")
	if err != nil {
		return err
	}
	admin := serveAdmin(internal, p.Logger)
	defer func() { err = errors.Join(err, admin.close()) }()
	s, err := openProgram(ctx, Config{
		listeners: c.listeners, backends: c.backends, redirecting: c.inFolder(filepath.Join("data", "spool")), projecting: c.projecting,
		Origins: c.CORSOrigins, Roles: c.Roles, Version: version, Getenv: p.getenv, Logger: p.Logger,
	}, admin)
	if err != nil {
		if ctx.Err() != nil { // told to stop while it waited
			return nil
		}
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	p.Logger.InfoContext(ctx, "serving",
		slog.String("listen", public.Addr().String()), slog.String("admin", internal.Addr().String()), slog.Any("roles", c.Roles))
	return s.run(ctx, public, admin)
}

func (c *serveCommand) check() error {
	if c.EventStore == "" {
		return usage("no event store: set --eventstore (%s) to esdb://HOST:2113?tls=false, or use linkledger dev", envName("eventstore"))
	}
	if c.Database == "" {
		return usage("no database: set --database (%s) to postgres://USER:PASSWORD@HOST/DATABASE, or use linkledger dev", envName("database"))
	}
	return validate(c)
}
