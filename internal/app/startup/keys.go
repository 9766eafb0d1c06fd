package startup

// This file opens the keys of accounts and people, which the log cannot rebuild.

import (
	"context"
	"errors"
	"log/slog"

	"linkledger/events/eventstore"
	"linkledger/internal/config"
	"linkledger/internal/usage"
	"linkledger/projections"
	"linkledger/projections/connection"
	"linkledger/projections/keystore"
	"linkledger/projections/keystore/keyfile"
)

// OpenKeys checks that the master key is the one of the database. If the database has no keys,
// OpenKeys restores them from their copy. If there is no copy, it creates an empty schema of keys.
// Before that it waits for the event store, and fails if the log has links, because their notes
// may be encrypted with the missing keys. If newKeys is set, the log may have links, and what was
// encrypted for them is lost. If master is nil, nothing is encrypted.
func (s Stores) OpenKeys(
	ctx context.Context, master *keyfile.MasterKey, newKeys bool,
) error {
	s.DB.Keys.Master = master
	exist := false
	err := Ask(ctx, func(ctx context.Context) (err error) {
		exist, err = s.DB.Keys.Exist(ctx)
		return err
	})
	if err != nil {
		return err
	}
	made := !exist
	if !exist {
		if exist, err = s.restoreKeys(ctx); err != nil {
			return config.ExplainKey(err)
		}
	}
	if !exist {
		if err := s.createKeys(ctx, newKeys); err != nil {
			return err
		}
	}
	s.Guard.Start(made)
	s.DB.Reset()
	// This opens a connection for the projectors. If PostgreSQL allows few connections, readers
	// could otherwise take all of them first.
	if err := Ask(ctx, s.DB.Writers.Ping); err != nil {
		return err
	}
	if err := Ask(ctx, s.DB.Keys.CheckMaster); err != nil {
		return config.ExplainKey(err)
	}
	return config.ExplainKey(
		await(ctx, "database", connection.Unavailable, s.DB.Keys.CopyAll),
	)
}

// restoreKeys loads the keys from the copy that linkledger dev keeps beside its database. done
// reports whether there was a copy.
func (s Stores) restoreKeys(ctx context.Context) (done bool, err error) {
	var restored keyfile.Restored
	err = await(ctx, "database", connection.Unavailable, func(ctx context.Context) (err error) {
		restored, done, err = projections.RestoreKeys(ctx, s.DB)
		return err
	})
	if done && err == nil {
		s.Logger.InfoContext(
			ctx, "the keys and sessions are loaded from their copy",
			slog.Int("keys", restored.Keys), slog.Int("sessions", restored.Sessions),
		)
	}
	return done, err
}

func (s Stores) createKeys(ctx context.Context, newKeys bool) error {
	var err error
	if !newKeys {
		err = await(ctx, "event store", isStoreOutage, within(func(ctx context.Context) error {
			return projections.CheckNoLinks(ctx, s.Store)
		}))
	}
	switch {
	case errors.Is(err, keystore.ErrMissing):
		return usage.Errorf("%w, but the log has links: restore the schema from a backup, "+
			"after DROP SCHEMA IF EXISTS linkledger_durable CASCADE. If there is none, start once "+
			"with --new-keys (%s): notes that were encrypted are then lost, and known visitors "+
			"count as new ones", err, usage.Env("new-keys"))
	case err != nil:
		return explainStore(err)
	}
	if newKeys {
		outage := func(err error) bool {
			return connection.Unavailable(err) || errors.Is(err, eventstore.ErrUnavailable)
		}
		return explainStore(await(ctx, "database or event store", outage,
			func(ctx context.Context) error {
				return projections.CreateWithoutKeys(ctx, s.DB, s.Store)
			}))
	}
	return await(ctx, "database", connection.Unavailable, func(ctx context.Context) error {
		return s.DB.Locked(ctx, s.DB.Keys.Create)
	})
}
