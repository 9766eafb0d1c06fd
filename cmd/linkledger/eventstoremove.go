package main

import (
	"context"

	"linkledger/internal/config"
	"linkledger/internal/migration"
	"linkledger/internal/secret"
)

// eventstoreCopy moves an installation to another event store.
type eventstoreCopy struct {
	From secret.Connection `help:"Event store to read from." placeholder:"esdb://HOST:2113?tls=false" validate:"required,startswith=esdb,encoded"`
	To   secret.Connection `help:"Event store to copy into. It is empty or has the events of an earlier copy." placeholder:"esdb://HOST:2113?tls=false" validate:"required,startswith=esdb,encoded"`
	JSON bool              `help:"Print JSON."`
}

// Run implements the command.
func (c *eventstoreCopy) Run(ctx context.Context, p *process) error {
	if err := config.Validate(c); err != nil {
		return err
	}
	return migration.Copy(ctx, p.Console, c.From, c.To, c.JSON)
}

// eventstorePrepare grants a user of EventStoreDB the one right that the service needs and users do
// not have by default.
type eventstorePrepare struct {
	Eventstore secret.Connection `help:"Connection string with the name and password of an administrator." placeholder:"esdb://admin:PASSWORD@HOST:2113" validate:"required,startswith=esdb,encoded"`
	User       string            `help:"User of EventStoreDB as whom the service connects." placeholder:"NAME" validate:"required,max=256"`
	JSON       bool              `help:"Print JSON."`
}

// Run implements the command.
func (c *eventstorePrepare) Run(ctx context.Context, p *process) error {
	if err := config.Validate(c); err != nil {
		return err
	}
	return migration.Prepare(ctx, p.Console, c.Eventstore, c.User, c.JSON)
}
