package keystore

// This file keeps a copy of the schema linkledger_durable beside the PostgreSQL of linkledger dev.
// With the copy, the keys are not lost if no installed PostgreSQL can read the database any more.
//
// A change is written to the copy before it is committed, so no process can use or acknowledge a
// change that the copy lacks. A lock keeps copies and commits in the same order. If a process is
// killed between the copy and the commit, the copy has a change that the database lacks. This does
// no harm: it is a key that has sealed nothing, or an erasure that the log has.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"linkledger/projections/keystore/keyfile"
)

// CopySetting is the setting of a PostgreSQL server that names the absolute folder of the copy.
// linkledger dev sets it for its server. So each process that changes keys on that server writes
// the copy, even a command of an operator.
const CopySetting = "linkledger.keys_copy"

// copyLock is the key of the advisory lock under which the copy is written: the bytes of
// "linkkeys".
const copyLock int64 = 0x6c696e6b6b657973

// erasedWins is for the insertion of keys of accounts that already have a key. If either of the two
// keys is erased, the stored key is erased. Otherwise the stored key stays.
const erasedWins = `
	ON CONFLICT (account_id) DO UPDATE SET wrapped = NULL, master = ''
	WHERE EXCLUDED.wrapped IS NULL AND k.wrapped IS NOT NULL`

// continueNumbers lets the numbers of new messages go on after those of a copy.
const continueNumbers = `SELECT setval(
	pg_get_serial_sequence('linkledger_durable.outbox', 'number'), max(number))
	FROM linkledger_durable.outbox HAVING max(number) IS NOT NULL`

// change names the parts of the copy that a transaction changes.
type change struct {
	account string   // the account whose key changes; empty: none
	tables  []string // some of keyfile.WholeTables
}

// copyIn returns the copy of the database, or nil if its server names none. It also returns nil in
// a process without the master key. The process of linkledger dev then writes the changes of that
// process to the copy, see Follow.
func (k *Keys) copyIn(ctx context.Context) (*keyfile.Copy, error) {
	if k.Master == nil {
		return nil, nil //nolint:nilnil // no copy is a value
	}
	if known := k.copy.Load(); known != nil {
		return orNil(known), nil
	}
	var folder string
	const query = "SELECT coalesce(current_setting($1, true), '')"
	if err := k.pool.QueryRow(ctx, query, CopySetting).Scan(&folder); err != nil {
		return nil, fmt.Errorf("look for the copy of the keys: %w", err)
	}
	found := keyfile.OpenCopy(folder, k.Master)
	k.copy.Store(found)
	return orNil(found), nil
}

// orNil returns nil for a copy without a folder.
func orNil(c *keyfile.Copy) *keyfile.Copy {
	if c.Folder() == "" {
		return nil
	}
	return c
}

// write writes the change of a transaction to the copy. The transaction MUST hold copyLock.
func write(ctx context.Context, tx pgx.Tx, c *keyfile.Copy, changed change) error {
	for _, table := range changed.tables {
		if err := writeTable(ctx, tx, c, table); err != nil {
			return err
		}
	}
	if changed.account != "" {
		if err := writeAccountKey(ctx, tx, c, changed.account); err != nil {
			return err
		}
	}
	return c.Sync()
}

// writeAccountKey writes the key of one account to its file.
func writeAccountKey(ctx context.Context, tx pgx.Tx, c *keyfile.Copy, account string) error {
	var row string
	if err := tx.QueryRow(ctx, `
		SELECT row_to_json(t)::text FROM linkledger_durable.account_keys AS t
		WHERE account_id = $1`,
		account).Scan(&row); err != nil {
		return err
	}
	rows, err := c.Read(keyfile.ShardOf(account))
	first := errors.Is(err, fs.ErrNotExist)
	if err != nil && !first {
		return err
	}
	changed, err := keyfile.ParseKey(row)
	if err != nil {
		return err
	}
	kept := rows[:0]
	for _, other := range rows {
		key, err := keyfile.ParseKey(other)
		if err != nil {
			return err
		}
		if key.Account != changed.Account {
			kept = append(kept, other)
		}
	}
	if err := c.Replace(keyfile.ShardOf(account), append(kept, row)); err != nil || !first {
		return err
	}
	return errors.Join(c.Sync(), c.ListShards())
}

// writeTable writes one of keyfile.WholeTables to the copy.
func writeTable(ctx context.Context, tx pgx.Tx, c *keyfile.Copy, table string) error {
	rows, err := rowsOf(ctx, tx, table)
	if err != nil {
		return err
	}
	return c.Replace(table, rows)
}

// nameOf returns the quoted name of a table of the schema.
func nameOf(table string) string {
	return pgx.Identifier{"linkledger_durable", table}.Sanitize()
}

// rowsOf returns the rows of a table as JSON. Of the outbox, it returns those that wait.
func rowsOf(ctx context.Context, tx pgx.Tx, table string) ([]string, error) {
	query := "SELECT row_to_json(t)::text FROM " + nameOf(table) + " AS t"
	if table == outbox {
		query += " WHERE state = 'waiting'"
	}
	found, err := tx.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, pgx.RowTo[string])
}

// CopyAll brings the copy to the state of the database, even if other programs have changed the
// database. It first adds to the database the keys that only the copy has, and erases keys that are
// erased in the copy. It does nothing if the server names no copy.
func (k *Keys) CopyAll(ctx context.Context) error {
	return k.copyTables(ctx, append([]string{keyfile.AccountKeys}, keyfile.WholeTables()...))
}

func (k *Keys) copyTables(ctx context.Context, tables []string) error {
	to, err := k.copyIn(ctx)
	if to == nil || err != nil {
		return err
	}
	err = pgx.BeginFunc(ctx, k.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL synchronous_commit = on"); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", copyLock); err != nil {
			return err
		}
		for _, table := range tables {
			if table == keyfile.AccountKeys {
				err = mergeAccountKeys(ctx, tx, to)
			} else {
				err = writeTable(ctx, tx, to, table)
			}
			if err != nil {
				return err
			}
		}
		return to.Finish()
	})
	if err != nil {
		return fmt.Errorf("copy the keys to %s: %w", to.Folder(), explain(err))
	}
	return nil
}

// mergeAccountKeys first adds the keys and erasures that only the copy has to the table
// account_keys. It then copies the table.
func mergeAccountKeys(ctx context.Context, tx pgx.Tx, c *keyfile.Copy) error {
	stored, shards, err := storedKeys(ctx, tx)
	if err != nil {
		return err
	}
	missing, err := missingKeys(c, stored)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		if err := insert(ctx, tx, keyfile.AccountKeys, missing, erasedWins); err != nil {
			return err
		}
		if _, shards, err = storedKeys(ctx, tx); err != nil {
			return err
		}
	}
	for _, shard := range slices.Sorted(maps.Keys(shards)) {
		if err := c.Replace(shard, shards[shard]); err != nil {
			return err
		}
	}
	return nil
}

// storedKeys returns the keys of the database by their account, and their rows by file.
func storedKeys(
	ctx context.Context, tx pgx.Tx,
) (stored map[string]keyfile.KeyRow, shards map[string][]string, err error) {
	rows, err := rowsOf(ctx, tx, keyfile.AccountKeys)
	if err != nil {
		return nil, nil, err
	}
	stored, shards = make(map[string]keyfile.KeyRow, len(rows)), make(map[string][]string)
	for _, row := range rows {
		key, err := keyfile.ParseKey(row)
		if err != nil {
			return nil, nil, err
		}
		stored[key.Account] = key
		shards[keyfile.ShardOf(key.Account)] = append(shards[keyfile.ShardOf(key.Account)], row)
	}
	return stored, shards, nil
}

// missingKeys returns the rows of the copy that the database lacks: either the database has no key
// of the account, or the key is erased only in the copy.
func missingKeys(c *keyfile.Copy, stored map[string]keyfile.KeyRow) ([]string, error) {
	names, err := c.Shards()
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, name := range names {
		rows, err := c.Read(name)
		if errors.Is(err, keyfile.ErrDamaged) || errors.Is(err, keyfile.ErrOtherMasterKey) {
			continue // the file is written anew from the database, which has all its keys
		}
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			key, err := keyfile.ParseKey(row)
			if err != nil {
				return nil, err
			}
			there, known := stored[key.Account]
			if !known || key.Wrapped == nil && there.Wrapped != nil {
				missing = append(missing, row)
			}
		}
	}
	return missing, nil
}

// insert inserts rows of the copy into a table. It names only the columns that the first row has,
// because a copy of an earlier version may lack columns. conflict is the ON CONFLICT clause.
func insert(ctx context.Context, tx pgx.Tx, table string, rows []string, conflict string) error {
	if len(rows) == 0 {
		return nil
	}
	var first map[string]json.RawMessage
	if err := json.Unmarshal([]byte(rows[0]), &first); err != nil {
		return err
	}
	columns := make([]string, 0, len(first))
	for _, column := range slices.Sorted(maps.Keys(first)) {
		columns = append(columns, pgx.Identifier{column}.Sanitize())
	}
	into := nameOf(table)
	list := strings.Join(columns, ", ")
	_, err := tx.Exec(ctx, "INSERT INTO "+into+" AS k ("+list+") SELECT "+list+
		" FROM json_populate_recordset(NULL::"+into+", $1::json)"+conflict,
		"["+strings.Join(rows, ",")+"]")
	const undefinedColumn = "42703"
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == undefinedColumn {
		return keyfile.ErrNewerCopy
	}
	return err
}

// Restore creates the schema from its copy if the database lacks the schema or its content. done is
// true if it did so. It does nothing if the server names no copy, or one that is not complete. No
// other process may change schemas meanwhile.
func (k *Keys) Restore(ctx context.Context) (restored keyfile.Restored, done bool, err error) {
	from, err := k.copyIn(ctx)
	if from == nil || err != nil {
		return keyfile.Restored{}, false, err
	}
	content, err := from.ReadAll()
	if errors.Is(err, keyfile.ErrNoCopy) {
		return keyfile.Restored{}, false, nil
	}
	if err != nil {
		return keyfile.Restored{}, false, err
	}
	if exist, err := k.Exist(ctx); exist || err != nil { // another process was faster
		return keyfile.Restored{}, false, err
	}
	if restored, err = k.load(ctx, content); err != nil {
		return keyfile.Restored{}, false, fmt.Errorf(
			"restore the keys from %s: %w", from.Folder(), err,
		)
	}
	return restored, true, nil
}

// load creates the schema with the content of a copy.
func (k *Keys) load(
	ctx context.Context, content []keyfile.Rows,
) (restored keyfile.Restored, err error) {
	err = pgx.BeginFunc(ctx, k.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL synchronous_commit = on"); err != nil {
			return err
		}
		const schema = "CREATE SCHEMA IF NOT EXISTS linkledger_durable;"
		if _, err := tx.Exec(ctx, schema+tables); err != nil {
			return err
		}
		for _, file := range content {
			conflict := " ON CONFLICT DO NOTHING" // with rows that a failed load has left
			if file.Table == keyfile.AccountKeys {
				conflict = erasedWins
			}
			if err := insert(ctx, tx, file.Table, file.Rows, conflict); err != nil {
				return fmt.Errorf("%s: %w", file.Table, err)
			}
			switch file.Table {
			case keyfile.AccountKeys:
				restored.Keys += len(file.Rows)
			case keyfile.Sessions:
				restored.Sessions += len(file.Rows)
			}
		}
		_, err := tx.Exec(ctx, continueNumbers)
		return err
	})
	return restored, err
}
