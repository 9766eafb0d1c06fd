package backups

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"linkledger/internal/config"
	"linkledger/internal/console"
	"linkledger/internal/datafolder"
	"linkledger/internal/installation"
	"linkledger/internal/usage"
	"linkledger/projections/readmodel"
)

// Wanted says what linkledger backup is to back up.
type Wanted struct {
	Folder string // of the backups
	Events string // folder of the embedded event store; empty: the folder of a running dev
	Keep   int
}

// Command makes a backup of the installation of an operator, and prints its contents.
func Command(ctx context.Context, o installation.Operator, w Wanted) error {
	source := Source{Events: w.Events, Version: o.Program}
	if w.Events == "" {
		if o.Eventstore != "" {
			return usage.Errorf("name the folder of the embedded event store with --events. The " +
				"log of EventStoreDB, or of a store on another machine, is backed up by its own " +
				"means, and the keys with pg_dump: see docs/backup-and-upgrade.md")
		}
		if err := o.Locate(); err != nil {
			return err
		}
		source.Events = filepath.Join(o.Data, "events")
		var err error
		if source.SigningKey, err = datafolder.StoredSigningKey(o.Data); err != nil {
			return err
		}
	}
	if o.Database == "" {
		return usage.Errorf("name the database with --database (%s)", usage.Env("database"))
	}
	folder, err := filepath.Abs(w.Folder)
	if err != nil {
		return usage.Wrap(err)
	}
	return withDatabase(ctx, o, func(db *readmodel.DB) error {
		source.Keys = db.Keys
		set, made, err := Make(ctx, source, folder, w.Keep)
		if err != nil {
			return config.ExplainKey(err)
		}
		return console.Pairs(o.Stdout, o.JSON, made, [][2]any{
			{"backup", set},
			{"events", made.Events},
			{"position", made.Head},
			{"took", made.Duration.Round(time.Millisecond)},
		})
	})
}

// withDatabase opens the database of an installation for the call of use.
func withDatabase(
	ctx context.Context, o installation.Operator, use func(*readmodel.DB) error,
) error {
	db, err := o.OpenReadModels(ctx, 1)
	if err != nil {
		return err
	}
	return errors.Join(use(db), db.Close())
}

// RestoreCommand restores a backup and prints the restored contents. If events is empty, it
// restores to a new data folder of dev. Otherwise events names a new folder for the event store,
// and it restores to that folder and to an empty database.
func RestoreCommand(ctx context.Context, o installation.Operator, from, events string) error {
	var restored Restored
	var err error
	switch {
	case events == "" && o.Database != "":
		return usage.Errorf(
			"name a new folder for the event store with --events, beside --database",
		)
	case events == "":
		restored, err = ToFolder(ctx, from, o.Data, o.Sealing)
	case o.Database == "":
		return usage.Errorf("name an empty database with --database (%s)", usage.Env("database"))
	default:
		o.Eventstore = "" // nothing serves yet
		err = withDatabase(ctx, o, func(db *readmodel.DB) (err error) {
			restored, err = ToBackends(ctx, from, events, db.Keys)
			return err
		})
	}
	if err != nil {
		return err
	}
	return console.Pairs(o.Stdout, o.JSON, restored, restored.Rows())
}
