package keystore

// The copy of the schema in a backup. It has the form of the copy that dev keeps, with one file for
// each table. What names events of the log is copied before the log, and what the log needs after
// it: the log of a backup then has each event that its keys name, and its keys read each event.

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
)

const (
	adoptions = "adoption"
	// signingKey is the file with the key that signs heads. It is no table.
	signingKey = "signing_key"
	// exportedKeys is the one file of account_keys in an export.
	exportedKeys = accountKeys + ".00"
)

// tablesOfEvents name events of the log.
var tablesOfEvents = []string{sessions, signInLinks, keyUses, signOuts, discarded}

// NewExport returns an empty copy in a folder, for Export. Without a master key its files are not
// sealed.
func NewExport(folder string, master *MasterKey) *Copy {
	return &Copy{folder: folder, master: master, plain: master == nil}
}

// OpenExport returns the copy in a folder that Export has written.
func OpenExport(folder string, master *MasterKey) *Copy { return NewExport(folder, master) }

// Export copies the tables to a new copy. It calls copyLog in between, which copies the log.
func (k *Keys) Export(ctx context.Context, to *Copy, copyLog func() error) error {
	if err := k.export(ctx, to, tablesOfEvents); err != nil {
		return err
	}
	if err := copyLog(); err != nil {
		return err
	}
	if err := k.export(ctx, to, []string{accountKeys, secrets, judgements, adoptions}); err != nil {
		return err
	}
	return to.finish()
}

func (k *Keys) export(ctx context.Context, to *Copy, tables []string) error {
	err := pgx.BeginTxFunc(ctx, k.pool, pgx.TxOptions{
		IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly,
	}, func(tx pgx.Tx) error {
		for _, table := range tables {
			rows, err := rowsOf(ctx, tx, table)
			if err != nil {
				return err
			}
			file := table
			if table == accountKeys {
				file = exportedKeys
			}
			if err := to.replace(file, rows); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("copy the keys to %s: %w", to.folder, explain(err))
	}
	return nil
}

// SetSigningKey adds the key that signs heads to an export.
func (c *Copy) SetSigningKey(quoted string) error { return c.replace(signingKey, []string{quoted}) }

// SigningKey returns what SetSigningKey was given, or nothing.
func (c *Copy) SigningKey() (string, error) {
	if !c.has(signingKey) {
		return "", nil
	}
	rows, err := c.read(signingKey)
	if err != nil {
		return "", err
	}
	if len(rows) != 1 {
		return "", fmt.Errorf("%w: %s has %d rows", errDamaged, signingKey, len(rows))
	}
	return rows[0], nil
}

// Load creates the schema of an empty database from an export.
func (k *Keys) Load(ctx context.Context, from *Copy) (Restored, error) {
	content, err := from.readAll()
	if err != nil {
		return Restored{}, err
	}
	if from.has(adoptions) { // which database it was, for one of the same place
		rows, err := from.read(adoptions)
		if err != nil {
			return Restored{}, err
		}
		content = append(content, tableRows{table: adoptions, rows: rows})
	}
	restored, err := k.load(ctx, content)
	if err != nil {
		return restored, fmt.Errorf("load the keys: %w", err)
	}
	return restored, nil
}

// IsEmpty reports whether the database has nothing of Linkledger.
func (k *Keys) IsEmpty(ctx context.Context) (empty bool, err error) {
	const query = "SELECT to_regnamespace('linkledger_keys') IS NULL " +
		"AND to_regnamespace('linkledger') IS NULL"
	if err := k.pool.QueryRow(ctx, query).Scan(&empty); err != nil {
		return false, fmt.Errorf("look for the keys: %w", err)
	}
	return empty, nil
}

// CopyTo brings the content of an export to a copy as dev keeps it, sealed with another master key.
func (c *Copy) CopyTo(to *Copy) (restored Restored, err error) {
	content, err := c.readAll()
	if err != nil {
		return restored, err
	}
	shards := make(map[string][]string)
	for _, file := range content {
		if file.table != accountKeys {
			if err := to.replace(file.table, file.rows); err != nil {
				return restored, err
			}
		}
		switch file.table {
		case accountKeys:
			restored.Keys += len(file.rows)
		case sessions:
			restored.Sessions += len(file.rows)
		}
		for _, row := range file.rows {
			if file.table != accountKeys {
				break
			}
			key, err := parseKey(row)
			if err != nil {
				return restored, err
			}
			shards[shardOf(key.Account)] = append(shards[shardOf(key.Account)], row)
		}
	}
	for _, shard := range slices.Sorted(maps.Keys(shards)) {
		if err := to.replace(shard, shards[shard]); err != nil {
			return restored, err
		}
	}
	return restored, to.finish()
}
