package readmodel

import (
	"context"
	"crypto/rand"
	"fmt"
)

// Secret returns the secret of that name, size random bytes that are drawn at the first call and
// the same for all processes ever after. A stored secret of another size is an error, as is a size
// below 16.
func (db *DB) Secret(ctx context.Context, name string, size int) ([]byte, error) {
	if size < 16 {
		return nil, fmt.Errorf("secret %s: %d bytes are too few", name, size)
	}
	drawn := make([]byte, size)
	_, _ = rand.Read(drawn) // never fails
	if _, err := db.NewRaw("INSERT INTO linkledger.secrets (name, value) VALUES (?, ?) ON "+
		"CONFLICT DO NOTHING",
		name, drawn).Exec(ctx); err != nil {
		return nil, fmt.Errorf("create secret %s: %w", name, err)
	}
	// Whoever was first has won. A statement of its own: the one above can't see a row that was
	// inserted beside it.
	return db.StoredSecret(ctx, name, size)
}

// StoredSecret returns the secret of that name, which has been drawn before: or else it fails with
// sql.ErrNoRows.
func (db *DB) StoredSecret(ctx context.Context, name string, size int) ([]byte, error) {
	var stored []byte
	if err := db.NewRaw("SELECT value FROM linkledger.secrets WHERE name = ?", name).Scan(
		ctx, &stored,
	); err != nil {
		return nil, fmt.Errorf("read secret %s: %w", name, err)
	}
	if len(stored) != size {
		return nil, fmt.Errorf("secret %s has %d bytes, not %d", name, len(stored), size)
	}
	return stored, nil
}
