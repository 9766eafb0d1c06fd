package keystore

// The copy of the schema linkledger_keys that linkledger dev keeps beside its PostgreSQL, so that
// the keys outlive a cluster that no installed PostgreSQL can read.
//
// A change is in the copy before it is committed, and so before anybody can use or answer it. A
// lock makes the order of the copies that of the commits. A process that is killed in between
// leaves a change in the copy that nobody has seen: a key that seals nothing, an erasure that the
// log has.

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
)

// CopySetting is the setting of a PostgreSQL server that names the absolute folder of the copy.
// linkledger dev sets it for its server. So each process that changes keys there writes the copy,
// commands of operators too.
const CopySetting = "linkledger.keys_copy"

const (
	// copyLock is the key of the advisory lock under which the copy is written: the bytes of
	// "linkkeys".
	copyLock int64 = 0x6c696e6b6b657973
	// completeFile is written once the copy has everything. It lists the tables.
	completeFile = "complete"
	shardsFile   = "shards" // lists the files of account_keys
	accountKeys  = "account_keys"
	sessions     = "sessions"
	signInLinks  = "sign_in_links"
	secrets      = "secrets"
	keyUses      = "key_uses"
	signOuts     = "issuer_sign_outs"
	discarded    = "discarded_events"
	judgements   = "judgements"
)

// wholeTables are the tables with one file each. Those with a row for each account would make a
// file that is long to write: account_keys has many files, see shardOf.
var wholeTables = []string{
	secrets, sessions, signInLinks, keyUses, signOuts, discarded, judgements,
}

// shardOf returns the file of the key of an account. The first digits of an id are a time, the last
// ones are random.
func shardOf(account string) string {
	return accountKeys + "." + strings.ToLower(account[max(0, len(account)-2):])
}

// erasedWins is what an insertion of keys does with a key that is there: an erased one stays so.
const erasedWins = `
	ON CONFLICT (account_id) DO UPDATE SET wrapped = NULL, master = ''
	WHERE EXCLUDED.wrapped IS NULL AND k.wrapped IS NOT NULL`

// change is what a transaction changes of the copy.
type change struct {
	account string   // whose key; empty: none
	tables  []string // of wholeTables
}

// copyIn returns the copy of the database, or nil if its server names none. It also returns nil for
// a process without the master key: the process of linkledger dev brings what that one changes to
// the copy.
func (k *Keys) copyIn(ctx context.Context) (*Copy, error) {
	if k.Master == nil {
		return nil, nil //nolint:nilnil // no copy is a value
	}
	if known := k.copy.Load(); known != nil {
		return known.orNil(), nil
	}
	var folder string
	const query = "SELECT coalesce(current_setting($1, true), '')"
	if err := k.pool.QueryRow(ctx, query, CopySetting).Scan(&folder); err != nil {
		return nil, fmt.Errorf("look for the copy of the keys: %w", err)
	}
	found := &Copy{folder: folder, master: k.Master}
	k.copy.Store(found)
	return found.orNil(), nil
}

// orNil returns nil for a copy without a folder.
func (c *Copy) orNil() *Copy {
	if c.folder == "" {
		return nil
	}
	return c
}

// write brings the change of a transaction to the copy. The transaction MUST hold copyLock.
func (c *Copy) write(ctx context.Context, tx pgx.Tx, changed change) error {
	for _, table := range changed.tables {
		if err := c.writeTable(ctx, tx, table); err != nil {
			return err
		}
	}
	if changed.account != "" {
		if err := c.writeAccountKey(ctx, tx, changed.account); err != nil {
			return err
		}
	}
	return c.sync()
}

// writeAccountKey brings the key of one account to its file.
func (c *Copy) writeAccountKey(ctx context.Context, tx pgx.Tx, account string) error {
	var row string
	if err := tx.QueryRow(ctx, `
		SELECT row_to_json(t)::text FROM linkledger_keys.account_keys AS t WHERE account_id = $1`,
		account).Scan(&row); err != nil {
		return err
	}
	rows, err := c.read(shardOf(account))
	first := errors.Is(err, fs.ErrNotExist)
	if err != nil && !first {
		return err
	}
	changed, err := parseKey(row)
	if err != nil {
		return err
	}
	kept := rows[:0]
	for _, other := range rows {
		key, err := parseKey(other)
		if err != nil {
			return err
		}
		if key.Account != changed.Account {
			kept = append(kept, other)
		}
	}
	if err := c.replace(shardOf(account), append(kept, row)); err != nil || !first {
		return err
	}
	return errors.Join(c.sync(), c.listShards())
}

// keyRow is what the copy reads of a row of account_keys.
type keyRow struct {
	Account string  `json:"account_id"`
	Wrapped *string `json:"wrapped"` // nil: erased
}

func parseKey(row string) (key keyRow, err error) {
	err = json.Unmarshal([]byte(row), &key)
	return key, err
}

// writeTable copies a table of wholeTables.
func (c *Copy) writeTable(ctx context.Context, tx pgx.Tx, table string) error {
	rows, err := rowsOf(ctx, tx, table)
	if err != nil {
		return err
	}
	return c.replace(table, rows)
}

// nameOf returns the quoted name of a table of the schema.
func nameOf(table string) string {
	return pgx.Identifier{"linkledger_keys", table}.Sanitize()
}

func rowsOf(ctx context.Context, tx pgx.Tx, table string) ([]string, error) {
	found, err := tx.Query(ctx, "SELECT row_to_json(t)::text FROM "+nameOf(table)+" AS t")
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, pgx.RowTo[string])
}

// CopyAll brings the copy to the state of the database, whoever has changed it. Keys that only the
// copy has come to the database, and keys that were erased in one of both are erased in the other.
// It does nothing if the server names no copy.
func (k *Keys) CopyAll(ctx context.Context) error {
	return k.copyTables(ctx, append([]string{accountKeys}, wholeTables...))
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
			if table == accountKeys {
				err = to.mergeAccountKeys(ctx, tx)
			} else {
				err = to.writeTable(ctx, tx, table)
			}
			if err != nil {
				return err
			}
		}
		return to.finish()
	})
	if err != nil {
		return fmt.Errorf("copy the keys to %s: %w", to.folder, explain(err))
	}
	return nil
}

// mergeAccountKeys copies account_keys, after it has brought to the table what only the copy has.
func (c *Copy) mergeAccountKeys(ctx context.Context, tx pgx.Tx) error {
	stored, shards, err := storedKeys(ctx, tx)
	if err != nil {
		return err
	}
	missing, err := c.missingKeys(stored)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		if err := insert(ctx, tx, accountKeys, missing, erasedWins); err != nil {
			return err
		}
		if _, shards, err = storedKeys(ctx, tx); err != nil {
			return err
		}
	}
	for _, shard := range slices.Sorted(maps.Keys(shards)) {
		if err := c.replace(shard, shards[shard]); err != nil {
			return err
		}
	}
	return nil
}

// storedKeys returns the keys of the database by their account, and their rows by file.
func storedKeys(
	ctx context.Context, tx pgx.Tx,
) (stored map[string]keyRow, shards map[string][]string, err error) {
	rows, err := rowsOf(ctx, tx, accountKeys)
	if err != nil {
		return nil, nil, err
	}
	stored, shards = make(map[string]keyRow, len(rows)), make(map[string][]string)
	for _, row := range rows {
		key, err := parseKey(row)
		if err != nil {
			return nil, nil, err
		}
		stored[key.Account] = key
		shards[shardOf(key.Account)] = append(shards[shardOf(key.Account)], row)
	}
	return stored, shards, nil
}

// missingKeys returns the rows of the copy whose key the database lacks or has not erased.
func (c *Copy) missingKeys(stored map[string]keyRow) ([]string, error) {
	names, err := c.shards()
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, name := range names {
		rows, err := c.read(name)
		if errors.Is(err, errDamaged) || errors.Is(err, ErrOtherMasterKey) {
			continue // the database has what the file had, and the file is written anew
		}
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			key, err := parseKey(row)
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

// insert inserts rows of the copy into a table. The copy of an earlier version may lack columns.
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
		return errNewerCopy
	}
	return err
}

// Restored counts what Restore has brought back.
type Restored struct {
	Keys     int // of accounts and people, also those that are erased
	Sessions int
}

// Restore creates the schema from its copy if the database lacks the schema or its content. It
// reports whether it did: not if the server names no copy, or one that is not complete. No other
// process may change schemas meanwhile.
func (k *Keys) Restore(ctx context.Context) (restored Restored, done bool, err error) {
	from, err := k.copyIn(ctx)
	if from == nil || err != nil {
		return Restored{}, false, err
	}
	content, err := from.readAll()
	if errors.Is(err, ErrNoCopy) {
		return Restored{}, false, nil
	}
	if err != nil {
		return Restored{}, false, err
	}
	if exist, err := k.Exist(ctx); exist || err != nil { // another process was faster
		return Restored{}, false, err
	}
	if restored, err = k.load(ctx, content); err != nil {
		return Restored{}, false, fmt.Errorf("restore the keys from %s: %w", from.folder, err)
	}
	return restored, true, nil
}

// load creates the schema with the content of a copy.
func (k *Keys) load(ctx context.Context, content []tableRows) (restored Restored, err error) {
	err = pgx.BeginFunc(ctx, k.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL synchronous_commit = on"); err != nil {
			return err
		}
		const schema = "CREATE SCHEMA IF NOT EXISTS linkledger_keys;"
		if _, err := tx.Exec(ctx, schema+tables); err != nil {
			return err
		}
		for _, file := range content {
			conflict := " ON CONFLICT DO NOTHING" // with what a load that has failed has left
			if file.table == accountKeys {
				conflict = erasedWins
			}
			if err := insert(ctx, tx, file.table, file.rows, conflict); err != nil {
				return fmt.Errorf("%s: %w", file.table, err)
			}
			switch file.table {
			case accountKeys:
				restored.Keys += len(file.rows)
			case sessions:
				restored.Sessions += len(file.rows)
			}
		}
		return nil
	})
	return restored, err
}
