package queries

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
)

// Account is who owns links.
type Account struct {
	ID             uuid.UUID `bun:"id"`
	Username       string    `bun:"username"`
	Plan           string    `bun:"plan"`
	KeyID          string    `bun:"key_id"`
	KeyHash        string    `bun:"key_hash"` // SHA-256 of the API key, hex
	Active         bool      `bun:"active"`
	ExpirationDate string    `bun:"expiration_date"` // YYYY-MM-DD, the last day of its use, UTC; empty: never
	Erased         bool      `bun:"erased"`          // nobody uses it any more
	CreatedAt      time.Time `bun:"created_at"`
}

// AccountByUsername returns the account of that user name, which is compared exactly; else ErrNotFound.
func (q *DB) AccountByUsername(ctx context.Context, username string) (Account, error) {
	if !storable(username) {
		return Account{}, failed("account by user name", ErrNotFound)
	}
	var account Account
	if err := q.accounts().Where("username = ?", username).Limit(1).Scan(ctx, &account); err != nil {
		return Account{}, failed("account by user name", err)
	}
	return account, nil
}

// accountsByUsername returns an account for each of the user names, without id where there is none. To PostgreSQL both are
// the same work: a probe of the index, and a row.
func (q *DB) accountsByUsername(ctx context.Context, usernames []string) ([]Account, error) {
	var accounts []Account
	err := q.db.NewRaw(`SELECT asked.username, found.* FROM unnest(?::text[]) AS asked (username) LEFT JOIN LATERAL (
			SELECT id, plan, key_id, key_hash, active, erased, created_at,
				coalesce(to_char(expiration_date, 'YYYY-MM-DD'), '') AS expiration_date
			FROM linkledger.accounts WHERE username = asked.username LIMIT 1
		) AS found ON true`, pgdialect.Array(usernames)).Scan(ctx, &accounts)
	return accounts, err
}

// Accounts returns all accounts by user name.
func (q *DB) Accounts(ctx context.Context) ([]Account, error) {
	accounts := []Account{}
	if err := q.accounts().OrderExpr("username, id").Scan(ctx, &accounts); err != nil {
		return nil, failed("accounts", err)
	}
	return accounts, nil
}

func (q *DB) accounts() *bun.SelectQuery {
	return q.db.NewSelect().ColumnExpr("id, username, plan, key_id, key_hash, active, erased, created_at").
		ColumnExpr("coalesce(to_char(expiration_date, 'YYYY-MM-DD'), '') AS expiration_date").
		TableExpr("linkledger.accounts")
}
