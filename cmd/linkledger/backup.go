package main

import (
	"context"

	"linkledger/cmd/linkledger/internal/command"
	"linkledger/internal/backups"
	"linkledger/internal/config"
)

// backupCommand makes a backup of an installation.
type backupCommand struct {
	command.OperatorFlags
	Folder string `arg:"" help:"${backup_folder}"`
	Events string `help:"${backup_events}" placeholder:"DIR"`
	Keep   int    `help:"${backup_keep}" default:"24" validate:"min=1,max=100000"`
}

// Run makes the backup and prints its contents.
func (c *backupCommand) Run(ctx context.Context, p *command.Process) error {
	if err := config.Validate(c); err != nil {
		return err
	}
	return backups.Command(ctx, c.By(p), backups.Wanted{
		Folder: c.Folder, Events: c.Events, Keep: c.Keep,
	})
}

// restoreCommand restores a backup.
type restoreCommand struct {
	command.OperatorFlags
	Folder string `arg:"" help:"${restore_folder}"`
	Events string `help:"${restore_events}" placeholder:"DIR"`
}

// Run restores the backup and prints the restored contents.
func (c *restoreCommand) Run(ctx context.Context, p *command.Process) error {
	if err := config.Validate(c); err != nil {
		return err
	}
	return backups.RestoreCommand(ctx, c.By(p), c.Folder, c.Events)
}
