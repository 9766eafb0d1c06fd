package main

import (
	"context"

	"github.com/alecthomas/kong"

	"linkledger/cmd/linkledger/internal/command"
	"linkledger/internal/config"
	"linkledger/internal/dev"
)

// devCommand runs everything in one process with one data folder.
type devCommand struct {
	config.Serving
	config.Redirecting
	config.Projecting
	config.BackingUp

	CORSOrigins config.Origins `help:"${cors}" default:"*" placeholder:"ORIGINS" validate:"origins"`

	Data             string `help:"Folder of all data." default:"./data" validate:"required"`
	EventstoreListen string `help:"${store_listen}" default:"127.0.0.1:2113" validate:"address"`
	PostgresBin      string `help:"${postgres_bin}" placeholder:"DIR"`
}

// Run serves everything until ctx ends.
func (c *devCommand) Run(ctx context.Context, p *command.Process, call *kong.Context) error {
	if err := config.Validate(c); err != nil {
		return err
	}
	return dev.Run(ctx, dev.Config{
		Serving: c.Serving, Redirecting: c.Redirecting, Projecting: c.Projecting,
		BackingUp: c.BackingUp,
		Origins:   c.CORSOrigins,
		Data:      c.Data, EventStoreListen: c.EventstoreListen, PostgresBin: c.PostgresBin,
		Version: version, Settings: settings(call), Getenv: p.Getenv,
	}, p.Console)
}
