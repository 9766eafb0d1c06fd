package readmodel

import (
	"context"
	"crypto/rand"
	"fmt"
)

// Secret returns a secret of size random bytes. The first call generates and stores it; all
// processes then get the same one. It fails if the stored secret has another size, or if size is
// below 16.
func (db *DB) Secret(ctx context.Context, name string, size int) ([]byte, error) {
	if size < 16 {
		return nil, fmt.Errorf("secret %s: %d bytes are too few", name, size)
	}
	random := make([]byte, size)
	_, _ = rand.Read(random) // never fails
	const statement = "INSERT INTO linkledger.secrets (name, value) VALUES (?, ?) " +
		"ON CONFLICT DO NOTHING"
	if _, err := db.NewRaw(statement, name, random).Exec(ctx); err != nil {
		return nil, fmt.Errorf("create secret %s: %w", name, err)
	}
	// Another process may have been first. A separate statement reads the secret, because the
	// INSERT does not see a row that is inserted concurrently.
	return db.StoredSecret(ctx, name, size)
}

// StoredSecret returns a secret that Secret has stored. It fails with sql.ErrNoRows if there is
// none.
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
