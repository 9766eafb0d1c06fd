package main

import (
	"context"

	"linkledger/cmd/linkledger/internal/command"
	"linkledger/internal/admin"
	"linkledger/internal/config"
)

// healthCommand asks a service on this machine whether it is ready. The health check of the
// container image runs it, because the image has no other HTTP client.
type healthCommand struct {
	AdminListen string `help:"${admin_listen}" default:"127.0.0.1:8081" validate:"address"`
	Live        bool   `help:"Ask whether the process runs, not whether it is ready."`
}

// Run prints the state of the service. If the service is not ready, the error contains its answer.
func (c *healthCommand) Run(ctx context.Context, p *command.Process) error {
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
