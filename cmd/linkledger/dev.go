package main

import "context"

// devCommand runs everything in one process, on one folder.
type devCommand struct {
	listeners
	redirecting
	projecting
	CORSOrigins      origins `name:"cors-origins" help:"Origins whose pages may call the API from a browser: exact ones such as https://app.example.com, or * for all. Empty: none." default:"*" placeholder:"ORIGINS" validate:"origins"`
	Data             string  `help:"Folder of all data." default:"./data" validate:"required"`
	EventstoreListen string  `help:"Address of the embedded event store." default:"127.0.0.1:2113" validate:"address"`
	PostgresBin      string  `help:"Folder of PostgreSQL's initdb and postgres, where they are not in the usual places." placeholder:"DIR"`
}

// Run implements the command.
func (c *devCommand) Run(ctx context.Context, p *process) error {
	if err := validate(c); err != nil {
		return err
	}
	return runDev(ctx, devConfig{
		listeners: c.listeners, redirecting: c.redirecting, projecting: c.projecting, Origins: c.CORSOrigins,
		Data: c.Data, EventStoreListen: c.EventstoreListen, PostgresBin: c.PostgresBin, Version: version, Getenv: p.getenv,
	}, p.Console)
}
