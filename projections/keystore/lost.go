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

// lostKeys is the name of the secret that contains a Lost: 8 bytes with UpTo, and 8 bytes with At
// in seconds since 1970.
const lostKeys = "lost-keys"

// LostKeysQuery selects the secret with the Lost, see ParseLost. It selects no row if no keys are
// lost.
const LostKeysQuery = "SELECT value FROM linkledger_durable.secrets WHERE name = '" + lostKeys + "'"

// Lost says which keys are lost: all keys that were made before At. The data that they have sealed
// in the log up to the commit position UpTo is lost with them. The zero value means that no keys
// are lost.
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

// CreateWithoutKeys does what Create does if the keys of the log are lost. The data that these keys
// have sealed up to the commit position upTo stays unreadable. It counts as lost, and not as
// tampered with.
func (k *Keys) CreateWithoutKeys(ctx context.Context, upTo uint64) error {
	value := binary.BigEndian.AppendUint64(nil, upTo)
	//nolint:gosec // not negative
	value = binary.BigEndian.AppendUint64(value, uint64(time.Now().Unix()))
	// The statements of one call are one transaction.
	_, err := k.pool.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS linkledger_durable;"+tables+fmt.Sprintf(
		"; INSERT INTO linkledger_durable.secrets (name, value) VALUES ('%s', '\\x%x')", lostKeys,
		value))
	if err != nil {
		return fmt.Errorf("create the schema linkledger_durable: %w", err)
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

// IsLost reports whether an event of an account was sealed with a key that is lost. position is the
// commit position of the event. unreadable means that the present key of the account does not open
// the event.
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
