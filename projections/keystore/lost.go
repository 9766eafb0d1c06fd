package keystore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"linkledger/projections/keystore/keyfile"
)

// lostKeys is the name of the secret that says up to where the keys are lost: 8 bytes with a commit
// position of the log and 8 bytes with a time, in seconds since 1970.
const lostKeys = "lost-keys"

// LostKeysQuery selects up to where the keys are lost; see ParseLost. It selects no row if none
// are.
const LostKeysQuery = "SELECT value FROM linkledger_keys.secrets WHERE name = '" + lostKeys + "'"

// Lost describes the lost keys: all keys from before At, and with them the data that they had
// sealed up to the commit position UpTo of the log. The zero value means that no keys are lost.
type Lost struct {
	UpTo uint64
	At   time.Time
}

// ParseLost returns the Lost that a value of LostKeysQuery stands for.
func ParseLost(value []byte) (Lost, error) {
	if len(value) != 16 {
		return Lost{}, fmt.Errorf("the note of lost keys has %d bytes, not 16", len(value))
	}
	seconds := int64(binary.BigEndian.Uint64(value[8:])) //nolint:gosec // written from an int64
	return Lost{UpTo: binary.BigEndian.Uint64(value), At: time.Unix(seconds, 0).UTC()}, nil
}

// CreateWithoutKeys is Create for a log that was written with keys that are lost. The data that
// they sealed up to a commit position stays unreadable, and counts as lost and not as tampered
// with.
func (k *Keys) CreateWithoutKeys(ctx context.Context, upTo uint64) error {
	value := binary.BigEndian.AppendUint64(nil, upTo)
	//nolint:gosec // not negative
	value = binary.BigEndian.AppendUint64(value, uint64(time.Now().Unix()))
	// The statements of one call are one transaction.
	_, err := k.pool.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS linkledger_keys;"+tables+fmt.Sprintf(
		"; INSERT INTO linkledger_keys.secrets (name, value) VALUES ('%s', '\\x%x')", lostKeys,
		value))
	if err != nil {
		return fmt.Errorf("create the schema linkledger_keys: %w", err)
	}
	return nil
}

// Lost returns which keys are lost.
func (k *Keys) Lost(ctx context.Context) (Lost, error) {
	var value []byte
	err := k.pool.QueryRow(ctx, LostKeysQuery).Scan(&value)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return Lost{}, nil
	case err != nil:
		return Lost{}, fmt.Errorf("look for lost keys: %w", explain(err))
	}
	return ParseLost(value)
}

// IsLost reports whether the key is lost that an account had when the event at a commit position
// was sealed. unreadable says that the key that the account has now has not sealed it.
func (k *Keys) IsLost(
	ctx context.Context, account string, position uint64, unreadable bool,
) (bool, error) {
	lost, err := k.Lost(ctx)
	if err != nil || position > lost.UpTo {
		return false, err
	}
	if unreadable {
		return true, nil
	}
	_, err = k.AccountKey(ctx, account)
	if errors.Is(err, keyfile.ErrKeyLost) {
		return true, nil
	}
	return false, err
}
