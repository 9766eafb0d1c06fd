package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"linkledger/internal/backups"
	"linkledger/internal/config"
	"linkledger/internal/console"
	"linkledger/internal/datafolder"
	"linkledger/internal/installation"
	"linkledger/internal/usage"
	"linkledger/projections/readmodel"
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
	o := c.by(p)
	source := backups.Source{Events: c.Events, Version: version}
	if c.Events == "" {
		if c.Eventstore != "" {
			return usage.Errorf("name the folder of the embedded event store with --events. The " +
				"log of EventStoreDB, or of a store on another machine, is backed up by its own " +
				"means, and the keys with pg_dump: see docs/backup-and-upgrade.md")
		}
		if err := o.Locate(); err != nil {
			return err
		}
		source.Events = filepath.Join(c.Data, "events")
		var err error
		if source.SigningKey, err = datafolder.StoredSigningKey(c.Data); err != nil {
			return err
		}
	}
	if c.Database == "" {
		return usage.Errorf("name the database with --database (%s)", usage.Env("database"))
	}
	folder, err := filepath.Abs(c.Folder)
	if err != nil {
		return usage.Wrap(err)
	}
	return withDatabase(ctx, o, func(db *readmodel.DB) error {
		source.Keys = db.Keys
		set, made, err := backups.Make(ctx, source, folder, c.Keep)
		if err != nil {
			return config.ExplainKey(err)
		}
		return console.Pairs(p.Stdout, c.JSON, made, [][2]any{
			{"backup", set}, {"events", made.Events}, {"position", made.Head},
			{"took", made.Duration.Round(time.Millisecond)},
		})
	})
}

// withDatabase uses the database of an installation.
func withDatabase(
	ctx context.Context, o installation.Operator, use func(*readmodel.DB) error,
) error {
	db, err := o.OpenReadModels(ctx, 1)
	if err != nil {
		return err
	}
	return errors.Join(use(db), db.Close())
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
	var restored backups.Restored
	var err error
	switch {
	case c.Events == "" && c.Database != "":
		return usage.Errorf(
			"name a new folder for the event store with --events, beside --database",
		)
	case c.Events == "":
		restored, err = backups.ToFolder(ctx, c.Folder, c.Data, c.Sealing)
	case c.Database == "":
		return usage.Errorf("name an empty database with --database (%s)", usage.Env("database"))
	default:
		o := c.by(p)
		o.Eventstore = "" // nothing serves yet
		err = withDatabase(ctx, o, func(db *readmodel.DB) (err error) {
			restored, err = backups.ToBackends(ctx, c.Folder, c.Events, db.Keys)
			return err
		})
	}
	if err != nil {
		return err
	}
	return console.Pairs(p.Stdout, c.JSON, restored, restored.Rows())
}
