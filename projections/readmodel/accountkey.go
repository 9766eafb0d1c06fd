package readmodel

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"
)

const (
	accountKeySize = 32  // bytes
	rewrapBatch    = 500 // keys per transaction
)

// AccountKeysQuery selects the rows of account_keys of the accounts $1.
const AccountKeysQuery = "SELECT account_id::text, wrapped, master FROM linkledger.account_keys " +
	"WHERE account_id = ANY($1::uuid[])"

// EraseAccountKeyStatement deletes the key of the account $1, if there is one. The row stays, so
// that the account never gets another key.
const EraseAccountKeyStatement = `INSERT INTO linkledger.account_keys AS k (account_id) VALUES ($1)
	ON CONFLICT (account_id) DO UPDATE SET wrapped = NULL, master = '' WHERE k.wrapped IS NOT NULL`

// MakeAccountKey returns the key of an account. The first call generates it. The key is nil if the
// account was erased. It fails with ErrNoMasterKey or ErrOtherMasterKey.
func (db *DB) MakeAccountKey(ctx context.Context, account string) ([]byte, error) {
	key, err := db.AccountKey(ctx, account)
	if !errors.Is(err, ErrKeyLost) {
		return key, err
	}
	if db.MasterKey == nil {
		return nil, ErrNoMasterKey
	}
	random := make([]byte, accountKeySize)
	_, _ = rand.Read(random) // never fails
	err = db.execDurably(ctx, `
		INSERT INTO linkledger.account_keys (account_id, wrapped, master) VALUES ($1, $2, $3)
		ON CONFLICT DO NOTHING`, account, db.MasterKey.wrap(account, random), db.MasterKey.name)
	if err != nil {
		return nil, fmt.Errorf("make a key for account %s: %w", account, err)
	}
	return db.AccountKey(ctx, account) // another process may have been first
}

// AccountKey returns the key of an account. The key is nil if the account was erased. It fails with
// ErrKeyLost if the account has no key, and with ErrNoMasterKey or ErrOtherMasterKey.
func (db *DB) AccountKey(ctx context.Context, account string) ([]byte, error) {
	var stored struct {
		Wrapped []byte `bun:"wrapped"`
		Master  string `bun:"master"`
	}
	err := db.NewRaw(
		"SELECT wrapped, master FROM linkledger.account_keys WHERE account_id = ?", account,
	).Scan(ctx, &stored)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, ErrKeyLost
	case err != nil:
		return nil, fmt.Errorf("read the key of account %s: %w", account, err)
	case stored.Wrapped == nil:
		return nil, nil
	}
	return db.MasterKey.Unwrap(account, stored.Master, stored.Wrapped)
}

// EraseAccountKey deletes the key of an account for ever, as EraseAccountKeyStatement does.
func (db *DB) EraseAccountKey(ctx context.Context, account string) error {
	if err := db.execDurably(ctx, EraseAccountKeyStatement, account); err != nil {
		return fmt.Errorf("delete the key of account %s: %w", account, err)
	}
	return nil
}

// execDurably executes a statement and returns once a crash of the database cannot undo it,
// whatever the settings of the connection.
func (db *DB) execDurably(ctx context.Context, statement string, args ...any) error {
	return pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL synchronous_commit = on"); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, statement, args...)
		return err
	})
}

// CheckMasterKey wraps the keys of accounts anew that the former master key has wrapped. It fails
// with ErrOtherMasterKey if neither master key has wrapped one of the others, and with
// ErrNoMasterKey if there are keys but no master key.
func (db *DB) CheckMasterKey(ctx context.Context) error {
	for m := db.MasterKey; m != nil && m.former != nil; {
		n, err := db.rewrap(ctx, m.former.name)
		if err != nil {
			return fmt.Errorf("wrap the keys of accounts by another master key: %w", err)
		}
		if n == 0 {
			break
		}
	}
	name := ""
	if db.MasterKey != nil {
		name = db.MasterKey.name
	}
	var foreign bool
	const query = "SELECT EXISTS (SELECT FROM linkledger.account_keys " +
		"WHERE wrapped IS NOT NULL AND master <> ?)"
	if err := db.NewRaw(query, name).Scan(ctx, &foreign); err != nil {
		return fmt.Errorf("check the keys of accounts: %w", err)
	}
	switch {
	case foreign && db.MasterKey == nil:
		return ErrNoMasterKey
	case foreign:
		return ErrOtherMasterKey
	}
	return nil
}

// rewrap wraps the next keys anew that a former master key has wrapped, and returns how many there
// were. FOR UPDATE keeps other processes from erasing them meanwhile.
func (db *DB) rewrap(ctx context.Context, former string) (n int, err error) {
	err = db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		var rows []struct {
			Account string `bun:"account_id"`
			Wrapped []byte `bun:"wrapped"`
		}
		if err := tx.NewRaw(`
			SELECT account_id, wrapped FROM linkledger.account_keys WHERE master = ?
			ORDER BY account_id LIMIT ? FOR UPDATE`, former, rewrapBatch).
			Scan(ctx, &rows); err != nil {
			return err
		}
		n = len(rows)
		for _, row := range rows {
			key, err := db.MasterKey.Unwrap(row.Account, former, row.Wrapped)
			if err != nil {
				return err
			}
			const statement = "UPDATE linkledger.account_keys SET wrapped = ?, master = ? " +
				"WHERE account_id = ?"
			wrapped := db.MasterKey.wrap(row.Account, key)
			if _, err := tx.NewRaw(statement, wrapped, db.MasterKey.name, row.Account).
				Exec(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}
