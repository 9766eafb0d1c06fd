package main

import (
	"context"

	"linkledger/cmd/linkledger/internal/command"
	"linkledger/internal/config"
	"linkledger/internal/migration"
	"linkledger/internal/secret"
)

// eventstoreCopy copies the log into another event store.
type eventstoreCopy struct {
	From secret.Connection `help:"${copy_from}" placeholder:"${esdb}" validate:"required,esdb"`
	To   secret.Connection `help:"${copy_to}" placeholder:"${esdb}" validate:"required,esdb"`
	JSON bool              `help:"Print JSON."`

	Check bool `help:"${copy_check}"`
}

// Run copies the log, or continues a copy, and prints the hash chain of both logs.
func (c *eventstoreCopy) Run(ctx context.Context, p *command.Process) error {
	if err := config.Validate(c); err != nil {
		return err
	}
	return migration.Copy(ctx, p.Console, migration.Wanted{
		From: c.From, To: c.To, Check: c.Check, JSON: c.JSON,
	})
}

// eventstorePrepare grants a user of EventStoreDB the right to read the log of all streams, which
// the service needs and users do not have by default.
type eventstorePrepare struct {
	Eventstore secret.Connection `help:"${admin}" placeholder:"${esdb}" validate:"required,esdb"`

	User string `help:"${service_user}" placeholder:"NAME" validate:"required,max=256"`
	JSON bool   `help:"Print JSON."`
}

// Run grants the user the rights that the service needs, and prints what changed.
func (c *eventstorePrepare) Run(ctx context.Context, p *command.Process) error {
	if err := config.Validate(c); err != nil {
		return err
	}
	return migration.Prepare(ctx, p.Console, c.Eventstore, c.User, c.JSON)
}
