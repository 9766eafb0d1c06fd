package main

import (
	"context"

	"linkledger/internal/admin"
	"linkledger/internal/config"
)

// healthCommand asks a service on this machine how it is, for images that have no other program to
// ask with.
type healthCommand struct {
	AdminListen string `help:"Internal address of the service." default:"127.0.0.1:8081" validate:"address"`
	Live        bool   `help:"Ask whether the process runs, not whether it is ready."`
}

// Run implements the command. It fails with what the service says of itself.
func (c *healthCommand) Run(ctx context.Context, p *process) error {
	if err := config.Validate(c); err != nil {
		return err
	}
	state, err := admin.Health(ctx, c.AdminListen, c.Live)
	if err != nil {
		return err
	}
	_, err = p.Stdout.Write(state)
	return err
}
