package queries

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"linkledger/projections/readmodel"
	"linkledger/queries/asof"
	"linkledger/queries/linkset"
)

// Account is an owner of links.
type Account struct {
	ID       uuid.UUID `bun:"id"`
	Username string    `bun:"username"`
	Plan     string    `bun:"plan"`
	KeyID    string    `bun:"key_id"`
	KeyHash  string    `bun:"key_hash"` // SHA-256 of the API key, hex
	Active   bool      `bun:"active"`
	// ExpirationDate is the last day on which the account works, YYYY-MM-DD, UTC; empty: never
	// expires.
	ExpirationDate string    `bun:"expiration_date"`
	Erased         bool      `bun:"erased"` // by an operator, for ever
	CreatedAt      time.Time `bun:"created_at"`
}

// Expired reports whether the last day of the account is over.
func (a Account) Expired(now time.Time) bool { return dayIsOver(a.ExpirationDate, now) }

// AccountByUsername returns the account with exactly that user name, or ErrNotFound.
func (q *DB) AccountByUsername(ctx context.Context, username string) (Account, error) {
	if !Storable(username) {
		return Account{}, failed("account by user name", ErrNotFound)
	}
	var account Account
	err := q.accounts().Where("username = ?", username).Limit(1).Scan(ctx, &account)
	if err != nil {
		return Account{}, failed("account by user name", err)
	}
	return account, nil
}

// AccountsByUsername returns an account for each of the user names, without an id if there is no
// such account. LEFT JOIN LATERAL makes known and unknown names the same work for PostgreSQL, one
// probe of the index and one row, so that the time does not reveal which names exist.
func (q *DB) AccountsByUsername(ctx context.Context, usernames []string) ([]Account, error) {
	var accounts []Account
	err := q.db.NewRaw(`
		SELECT asked.username, found.*
		FROM unnest(?::text[]) AS asked (username) LEFT JOIN LATERAL (
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
	return q.db.NewSelect().
		ColumnExpr("id, username, plan, key_id, key_hash, active, erased, created_at").
		ColumnExpr("coalesce(to_char(expiration_date, 'YYYY-MM-DD'), '') AS expiration_date").
		TableExpr("linkledger.accounts")
}

// AccountAt returns the account as it was at a past moment, without its key, and its counters as of
// then, or ErrNotFound. MonthURLs counts the month of that moment.
func (q *DB) AccountAt(ctx context.Context, id uuid.UUID, at time.Time) (Account, Counters, error) {
	then := asof.At(at)
	account := Account{ID: id}
	err := q.db.NewRaw(`
		SELECT username, plan, active,
			coalesce(to_char(expiration_date, 'YYYY-MM-DD'), '') AS expiration_date
		FROM linkledger.account_versions
		WHERE account_id = ? AND since <= ? ORDER BY since DESC LIMIT 1`, id, then.Nanoseconds()).
		Scan(ctx, &account.Username, &account.Plan, &account.Active, &account.ExpirationDate)
	if err != nil {
		return Account{}, Counters{}, failed("account at", err)
	}
	month := readmodel.BeforeDays + then.Moment().Format("2006-01")
	live := linkset.Union(q.db, id, then, "name = 'live'")
	created := linkset.Union(q.db, id, then, "name > ? AND name < ?", month, month+"~")
	var counters Counters
	for _, counted := range []struct {
		set  *linkset.Query
		into *int64
	}{{live, &counters.URLs}, {created, &counters.MonthURLs}} {
		set, err := counted.set.All(ctx)
		if err != nil {
			return Account{}, Counters{}, failed("account at", err)
		}
		*counted.into = int64(set.Count())
	}
	return account, counters, nil
}
