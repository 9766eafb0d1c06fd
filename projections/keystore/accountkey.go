package keystore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"linkledger/projections/keystore/keyfile"
)

const (
	accountKeySize = 32  // bytes
	rewrapBatch    = 500 // keys per transaction
)

// AccountKeysQuery selects the id, the wrapped key and the name of the master key of each account
// in $1.
const AccountKeysQuery = "SELECT account_id::text, wrapped, master " +
	"FROM linkledger_durable.account_keys WHERE account_id = ANY($1::uuid[])"

// EraseAccountKeyStatement deletes the key of the account $1, if there is one. A row without a key
// stays, so that the account never gets another key.
const EraseAccountKeyStatement = `
	INSERT INTO linkledger_durable.account_keys AS k (account_id) VALUES ($1)
	ON CONFLICT (account_id) DO UPDATE SET wrapped = NULL, master = '' WHERE k.wrapped IS NOT NULL`

// MakeAccountKey returns the key of an account. The first call generates it. The key is nil if the
// account was erased. It fails with ErrNoMasterKey or ErrOtherMasterKey.
func (k *Keys) MakeAccountKey(ctx context.Context, account string) ([]byte, error) {
	key, err := k.AccountKey(ctx, account)
	if !errors.Is(err, keyfile.ErrKeyLost) {
		return key, err
	}
	if k.Master == nil {
		return nil, keyfile.ErrNoMasterKey
	}
	random := make([]byte, accountKeySize)
	_, _ = rand.Read(random) // never fails
	err = k.execDurably(ctx, change{account: account}, `
		INSERT INTO linkledger_durable.account_keys (account_id, wrapped, master)
		VALUES ($1, $2, $3)
		ON CONFLICT DO NOTHING`, account, k.Master.Wrap(account, random), k.Master.Name())
	if err != nil {
		return nil, fmt.Errorf("make a key for account %s: %w", account, err)
	}
	return k.AccountKey(ctx, account) // another process may have been first
}

// AccountKey returns the key of an account. The key is nil if the account was erased. It fails with
// ErrKeyLost if the account has no key, and with ErrNoMasterKey or ErrOtherMasterKey.
func (k *Keys) AccountKey(ctx context.Context, account string) ([]byte, error) {
	var wrapped []byte
	var master string
	const query = "SELECT wrapped, master FROM linkledger_durable.account_keys " +
		"WHERE account_id = $1"
	err := k.pool.QueryRow(ctx, query, account).Scan(&wrapped, &master)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, keyfile.ErrKeyLost
	case err != nil:
		return nil, fmt.Errorf("read the key of account %s: %w", account, explain(err))
	case wrapped == nil:
		return nil, nil
	}
	return k.Master.Unwrap(account, master, wrapped)
}

// EraseAccountKey deletes the key of an account for ever, as EraseAccountKeyStatement does.
func (k *Keys) EraseAccountKey(ctx context.Context, account string) error {
	err := k.execDurably(ctx, change{account: account}, EraseAccountKeyStatement, account)
	if err != nil {
		return fmt.Errorf("delete the key of account %s: %w", account, err)
	}
	return nil
}

// execDurably executes a statement. When it returns, a crash of the database cannot undo the
// change, whatever the settings of the connection are. The change is then also in the copy, if
// there is one.
func (k *Keys) execDurably(
	ctx context.Context, changed change, statement string, args ...any,
) error {
	return k.durably(ctx, changed, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, statement, args...)
		return err
	})
}

// durably does what execDurably does, for the statements that the function do executes. changed
// names what these statements change.
func (k *Keys) durably(ctx context.Context, changed change, do func(pgx.Tx) error) error {
	to, err := k.copyIn(ctx)
	if err != nil {
		return err
	}
	return explain(pgx.BeginFunc(ctx, k.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL synchronous_commit = on"); err != nil {
			return err
		}
		if to == nil {
			return do(tx)
		}
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", copyLock); err != nil {
			return err
		}
		if err := do(tx); err != nil {
			return err
		}
		if err := write(ctx, tx, to, changed); err != nil {
			return fmt.Errorf("copy the keys to %s: %w", to.Folder(), err)
		}
		return nil
	}))
}

// CheckMaster wraps anew the keys of accounts that the former master key has wrapped. It fails with
// ErrOtherMasterKey if a key was wrapped by neither of the two master keys, and with ErrNoMasterKey
// if there are keys but no master key.
func (k *Keys) CheckMaster(ctx context.Context) error {
	name := ""
	if k.Master != nil {
		name = k.Master.Name()
		if k.Master.Former() != nil {
			if err := k.rewrapAll(ctx); err != nil {
				return fmt.Errorf("wrap the keys of accounts by another master key: %w", err)
			}
		}
	}
	var foreign bool
	const query = "SELECT EXISTS (SELECT FROM linkledger_durable.account_keys " +
		"WHERE wrapped IS NOT NULL AND master <> $1)"
	if err := k.pool.QueryRow(ctx, query, name).Scan(&foreign); err != nil {
		return fmt.Errorf("check the keys of accounts: %w", explain(err))
	}
	switch {
	case foreign && k.Master == nil:
		return keyfile.ErrNoMasterKey
	case foreign:
		return keyfile.ErrOtherMasterKey
	}
	return nil
}

// rewrapAll wraps anew all keys that the former master key has wrapped.
func (k *Keys) rewrapAll(ctx context.Context) error {
	for {
		var n int
		if err := pgx.BeginFunc(ctx, k.pool, func(tx pgx.Tx) (err error) {
			n, err = k.rewrap(ctx, tx)
			return err
		}); err != nil || n == 0 {
			return explain(err)
		}
	}
}

// rewrap wraps the next keys anew, at most rewrapBatch, and returns their number. FOR UPDATE keeps
// other processes from erasing the keys meanwhile.
func (k *Keys) rewrap(ctx context.Context, tx pgx.Tx) (n int, err error) {
	former := k.Master.Former().Name()
	found, err := tx.Query(ctx, `
		SELECT account_id::text, wrapped FROM linkledger_durable.account_keys WHERE master = $1
		ORDER BY account_id LIMIT $2 FOR UPDATE`, former, rewrapBatch)
	if err != nil {
		return 0, err
	}
	rows, err := pgx.CollectRows(found, pgx.RowToStructByPos[struct {
		Account string
		Wrapped []byte
	}])
	if err != nil {
		return 0, err
	}
	for _, row := range rows {
		key, err := k.Master.Unwrap(row.Account, former, row.Wrapped)
		if err != nil {
			return 0, err
		}
		const statement = "UPDATE linkledger_durable.account_keys SET wrapped = $1, master = $2 " +
			"WHERE account_id = $3"
		wrapped := k.Master.Wrap(row.Account, key)
		if _, err := tx.Exec(ctx, statement, wrapped, k.Master.Name(), row.Account); err != nil {
			return 0, err
		}
	}
	return len(rows), nil
}
