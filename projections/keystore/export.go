package keystore

// This file writes and reads the copy of the schema in a backup. It has the form of the copy that
// linkledger dev keeps, but one file for each table. Tables that name events of the log are copied
// before the log, so the copied log has every event that they name. Tables that the log needs are
// copied after it, so their keys can read every event of the copied log.

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"linkledger/projections/keystore/keyfile"
)

const (
	adoptions = "adoption"
	outbox    = "outbox"
	// exportedKeys is the one file of account_keys in an export.
	exportedKeys = keyfile.AccountKeys + ".00"
)

// tablesOfEvents name events of the log.
var tablesOfEvents = []string{
	keyfile.Sessions, keyfile.SignInLinks, keyfile.KeyUses, keyfile.SignOuts, keyfile.Discarded,
	"effects", "receivers", "queues", outbox,
}

// Export copies the tables to a new copy. It calls copyLog, which copies the log, after the tables
// that name events of the log and before the other tables.
func (k *Keys) Export(ctx context.Context, to *keyfile.Copy, copyLog func() error) error {
	if err := k.export(ctx, to, tablesOfEvents); err != nil {
		return err
	}
	if err := copyLog(); err != nil {
		return err
	}
	if err := k.export(ctx, to, []string{
		keyfile.AccountKeys, keyfile.Secrets, keyfile.Judgements, adoptions,
	}); err != nil {
		return err
	}
	return to.Finish()
}

func (k *Keys) export(ctx context.Context, to *keyfile.Copy, tables []string) error {
	err := pgx.BeginTxFunc(ctx, k.pool, pgx.TxOptions{
		IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly,
	}, func(tx pgx.Tx) error {
		for _, table := range tables {
			rows, err := rowsOf(ctx, tx, table)
			if err != nil {
				return err
			}
			file := table
			if table == keyfile.AccountKeys {
				file = exportedKeys
			}
			if err := to.Replace(file, rows); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("copy the keys to %s: %w", to.Folder(), explain(err))
	}
	return nil
}

// Load creates the schema of an empty database from an export.
func (k *Keys) Load(ctx context.Context, from *keyfile.Copy) (keyfile.Restored, error) {
	content, err := from.ReadAll()
	if err != nil {
		return keyfile.Restored{}, err
	}
	// The table adoptions has the token of the exported database. If the database that is loaded
	// has the system identifier and OID of the one that the log names, it is refused without this
	// token: see adoption.Decide.
	if from.Has(adoptions) {
		rows, err := from.Read(adoptions)
		if err != nil {
			return keyfile.Restored{}, err
		}
		content = append(content, keyfile.Rows{Table: adoptions, Rows: rows})
	}
	restored, err := k.load(ctx, content)
	if err != nil {
		return restored, fmt.Errorf("load the keys: %w", err)
	}
	return restored, nil
}

// IsEmpty reports whether the database has nothing of Linkledger.
func (k *Keys) IsEmpty(ctx context.Context) (empty bool, err error) {
	const query = "SELECT to_regnamespace('linkledger_durable') IS NULL " +
		"AND to_regnamespace('linkledger_keys') IS NULL AND to_regnamespace('linkledger') IS NULL"
	if err := k.pool.QueryRow(ctx, query).Scan(&empty); err != nil {
		return false, fmt.Errorf("look for the keys: %w", err)
	}
	return empty, nil
}
