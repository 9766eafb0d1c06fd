package installation

import (
	"context"
	"errors"

	"linkledger/commands/streams"
	"linkledger/events/eventstore"
	"linkledger/internal/config"
	"linkledger/internal/datafolder"
	"linkledger/internal/usage"
	"linkledger/projections/adoption"
	"linkledger/projections/connection"
	"linkledger/projections/readmodel"
	"linkledger/projections/readmodel/controlschema"
)

// Installation has the flags that name the installation of an operator command.
type Installation struct {
	config.Backends
	Data string `help:"Data folder of a running linkledger dev." default:"./data"`

	// ConsoleURL is scheme and host of the console of a running dev, once Locate has found it.
	ConsoleURL string `kong:"-"`
	Program    string `kong:"-"` // version of the program
}

// Locate fills in missing connection strings from the data folder of a running dev.
func (i *Installation) Locate() error {
	if err := config.Validate(i); err != nil {
		return err
	}
	if i.Eventstore != "" && i.Database != "" {
		return nil
	}
	running, err := datafolder.FindRunning(i.Data)
	if err != nil {
		return err
	}
	if i.Eventstore == "" {
		i.Eventstore = running.EventStore
	}
	if i.Database == "" {
		i.Database = running.Database
	}
	i.ConsoleURL = running.Console
	if i.MasterKey == "" {
		i.MasterKey, err = datafolder.StoredMasterKey(i.Data)
	}
	return err
}

// OpenReadModels opens the database of an installation for an operator command.
func (i *Installation) OpenReadModels(ctx context.Context, connections int) (*readmodel.DB, error) {
	key, err := i.Keys()
	if err != nil {
		return nil, err
	}
	guards, err := i.guards(ctx)
	if err != nil {
		return nil, err
	}
	db, err := readmodel.Open(ctx, string(i.Database), connections, guards...)
	if errors.Is(err, adoption.ErrOtherDatabase) {
		return nil, usage.Wrap(err)
	}
	if err != nil {
		return nil, usage.Errorf("no database answers: %w: is it running?", err)
	}
	db.Keys.Master, db.Program = key, i.Program
	// ErrNotUpgraded is no error here: a service that starts now may not have prepared the database
	// yet.
	if err := db.CheckVersion(ctx); err != nil && !errors.Is(err, controlschema.ErrNotUpgraded) {
		return nil, errors.Join(usage.Wrap(err), db.Close())
	}
	return db, nil
}

// guards returns the guard that refuses a database if the log says that another database serves. If
// no event store is given, it returns nil.
func (i *Installation) guards(ctx context.Context) ([]connection.Guard, error) {
	if i.Eventstore == "" {
		return nil, nil
	}
	store, err := eventstore.Open(eventstore.Config{URL: string(i.Eventstore)})
	if err != nil {
		return nil, usage.Wrap(err)
	}
	defer store.Close()
	return []connection.Guard{adoption.Now(ctx, store).Watch}, nil
}

// keysOnDemand opens the database for each key that is needed. Many operator commands need none,
// and work without a database.
type keysOnDemand struct{ of *Installation }

var _ streams.SealingKeys = keysOnDemand{}

func (k keysOnDemand) withDatabase(ctx context.Context, use func(*readmodel.DB) error) error {
	if k.of.Database == "" {
		if err := k.of.Locate(); err != nil {
			return err
		}
	}
	db, err := k.of.OpenReadModels(ctx, 1)
	if err != nil {
		return err
	}
	return errors.Join(use(db), db.Close())
}

// AccountKey implements streams.SealingKeys.
func (k keysOnDemand) AccountKey(ctx context.Context, account string) (key []byte, err error) {
	err = k.withDatabase(ctx, func(db *readmodel.DB) (err error) {
		key, err = db.Keys.AccountKey(ctx, account)
		return err
	})
	return key, err
}

// MakeAccountKey implements streams.SealingKeys.
func (k keysOnDemand) MakeAccountKey(ctx context.Context, account string) (key []byte, err error) {
	err = k.withDatabase(ctx, func(db *readmodel.DB) (err error) {
		key, err = db.Keys.MakeAccountKey(ctx, account)
		return err
	})
	return key, err
}

// IsLost implements streams.SealingKeys.
func (k keysOnDemand) IsLost(
	ctx context.Context, account string, position uint64, unreadable bool,
) (lost bool, err error) {
	err = k.withDatabase(ctx, func(db *readmodel.DB) (err error) {
		lost, err = db.Keys.IsLost(ctx, account, position, unreadable)
		return err
	})
	return lost, err
}

// EraseAccountKey implements streams.SealingKeys.
func (k keysOnDemand) EraseAccountKey(ctx context.Context, account string) error {
	return k.withDatabase(
		ctx, func(db *readmodel.DB) error { return db.Keys.EraseAccountKey(ctx, account) },
	)
}
