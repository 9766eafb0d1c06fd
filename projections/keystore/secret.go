package keystore

import (
	"context"
	"crypto/rand"
	"fmt"

	"linkledger/projections/keystore/keyfile"
)

// Secret returns a secret of size random bytes. The first call generates and stores it; all
// processes then get the same one. It fails if the stored secret has another size, or if size is
// below 16.
func (k *Keys) Secret(ctx context.Context, name string, size int) ([]byte, error) {
	if size < 16 {
		return nil, fmt.Errorf("secret %s: %d bytes are too few", name, size)
	}
	random := make([]byte, size)
	_, _ = rand.Read(random) // never fails
	const statement = "INSERT INTO linkledger_durable.secrets (name, value) VALUES ($1, $2) " +
		"ON CONFLICT DO NOTHING"
	if err := k.execDurably(
		ctx, change{tables: []string{keyfile.Secrets}}, statement, name, random,
	); err != nil {
		return nil, fmt.Errorf("create secret %s: %w", name, err)
	}
	// Another process may have been first. A separate statement reads the secret, because the
	// INSERT does not see a row that is inserted concurrently.
	return k.StoredSecret(ctx, name, size)
}

// StoredSecret returns a secret that Secret has stored. It fails with pgx.ErrNoRows if there is
// none.
func (k *Keys) StoredSecret(ctx context.Context, name string, size int) ([]byte, error) {
	var stored []byte
	const query = "SELECT value FROM linkledger_durable.secrets WHERE name = $1"
	if err := k.pool.QueryRow(ctx, query, name).Scan(&stored); err != nil {
		return nil, fmt.Errorf("read secret %s: %w", name, explain(err))
	}
	if len(stored) != size {
		return nil, fmt.Errorf("secret %s has %d bytes, not %d", name, len(stored), size)
	}
	return stored, nil
}
