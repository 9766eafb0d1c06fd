package main

import (
	"context"

	"linkledger/commands"
	"linkledger/commands/accounts"
	"linkledger/commands/audit"
	"linkledger/commands/streams"
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

// streams returns the streams of an installation for an operator command.
func (t *place) streams(store *eventstore.Store) *streams.Streams {
	return streams.New(streams.Config{
		Store: store, Keys: keysOnDemand{t}, EncryptNotes: t.MasterKey != "",
	})
}

// accounts returns the accounts of an installation for an operator command.
func (t *place) accounts(store *eventstore.Store) *accounts.Accounts {
	if t.MasterKey == "" {
		return accounts.New(t.streams(store), nil)
	}
	return accounts.New(t.streams(store), keysOnDemand{t})
}

// reader returns the reader of histories for an operator command.
func (t *place) reader(p *process, store *eventstore.Store) *audit.Reader {
	return audit.New(t.streams(store), store, p.logger)
}

// handler returns the handler of commands on links for an operator command.
func (t *place) handler(p *process, store *eventstore.Store) *commands.Handler {
	return commands.NewHandler(commands.Config{Streams: t.streams(store), Logger: p.logger})
}
