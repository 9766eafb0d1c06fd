package main

import (
	"context"

	"linkledger/internal/backups"
	"linkledger/internal/config"
)

// backupCommand makes a backup of an installation.
type backupCommand struct {
	operatorFlags
	Folder string `arg:"" help:"${backup_folder}"`
	Events string `help:"${backup_events}" placeholder:"DIR"`
	Keep   int    `help:"${backup_keep}" default:"24" validate:"min=1,max=100000"`
}

// Run makes the backup and prints what it has.
func (c *backupCommand) Run(ctx context.Context, p *process) error {
	if err := config.Validate(c); err != nil {
		return err
	}
	return backups.Command(ctx, c.by(p), backups.Wanted{
		Folder: c.Folder, Events: c.Events, Keep: c.Keep,
	})
}

// restoreCommand restores a backup.
type restoreCommand struct {
	operatorFlags
	Folder string `arg:"" help:"${restore_folder}"`
	Events string `help:"${restore_events}" placeholder:"DIR"`
}

// Run restores the backup and prints what it has brought.
func (c *restoreCommand) Run(ctx context.Context, p *process) error {
	if err := config.Validate(c); err != nil {
		return err
	}
	return backups.RestoreCommand(ctx, c.by(p), c.Folder, c.Events)
}
