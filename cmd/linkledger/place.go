package main

import (
	"context"

	"linkledger/commands"
	"linkledger/events/eventstore"
	"linkledger/projections/readmodel"
)

// place is where the installation is that an operator command is for.
type place struct {
	backends
	Data string `help:"Data folder of a running linkledger dev." default:"./data"`
}

// locate fills in the connection strings that were not given.
func (t *place) locate() error {
	if err := validate(t); err != nil {
		return err
	}
	if t.EventStore != "" && t.Database != "" {
		return nil
	}
	running, err := findRunning(t.Data)
	if err != nil {
		return err
	}
	if t.EventStore == "" {
		t.EventStore = running.EventStore
	}
	if t.Database == "" {
		t.Database = running.Database
	}
	if t.MasterKey == "" {
		t.MasterKey, err = storedMasterKey(t.Data)
	}
	return err
}

// openReadModels opens the database of an installation for an operator command.
func (t *place) openReadModels(ctx context.Context, connections int) (*readmodel.DB, error) {
	key, err := t.keys()
	if err != nil {
		return nil, err
	}
	db, err := readmodel.Open(ctx, string(t.Database), connections)
	if err != nil {
		return nil, usage("no database answers: %w: is it running?", err)
	}
	db.MasterKey = key
	return db, nil
}

// handler returns what carries out commands of an operator.
func (t *place) handler(p *process, store *eventstore.Store) *commands.Handler {
	return commands.NewHandler(commands.Config{
		Store: store, Logger: p.logger, Keys: keysOnDemand{t}, SealNotes: t.MasterKey != "",
	})
}
