package accountlist

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"linkledger/events"
	"linkledger/projections/keystore"
	"linkledger/projections/readmodel"
	"linkledger/queries/asof"
	"linkledger/queries/linkset"
	"linkledger/queries/lookup"
)

// Account is an owner of links.
type Account struct {
	ID       uuid.UUID `bun:"id"`
	Username string    `bun:"username"`
	Plan     string    `bun:"plan"`
	Active   bool      `bun:"active"`
	// ExpirationDate is the last day on which the account works, YYYY-MM-DD, UTC; empty: never
	// expires.
	ExpirationDate string    `bun:"expiration_date"`
	Erased         bool      `bun:"erased"` // by an operator, for ever
	CreatedAt      time.Time `bun:"created_at"`
	// LostKey reports that an earlier encryption key of the account is lost, and with it the notes
	// that the key had encrypted. It is set only in lists of accounts.
	LostKey bool `bun:"-"`
}

// Login is an account with its working keys.
type Login struct {
	Account

	Keys []Key
	// Changed is the commit position of the last change of any account that the read models showed.
	// A Login with a lower position may be stale.
	Changed int64
}

// Key is an API key of an account.
type Key struct {
	ID   string `json:"id"`
	Hash string `json:"hash"` // SHA-256 of the key, hex
	// Restricted are the terms of the key, without its name; nil: the key may do everything. It is
	// a pointer to save memory, because many keys are in memory and most of them may do everything.
	Restricted *events.KeyTerms `json:"terms"`
}

// Terms returns the terms of the key, without its name. They are zero if the key may do everything.
func (k *Key) Terms() events.KeyTerms {
	if k.Restricted == nil {
		return events.KeyTerms{}
	}
	return *k.Restricted
}

// Expired reports whether the last day of the account is over.
func (a Account) Expired(now time.Time) bool { return lookup.DayIsOver(a.ExpirationDate, now) }

// AccountByUsername returns the account with exactly the given user name, or ErrNotFound.
func (q *Reader) AccountByUsername(ctx context.Context, username string) (Account, error) {
	if !lookup.Storable(username) {
		return Account{}, lookup.Failed("account by user name", lookup.ErrNotFound)
	}
	var account Account
	err := q.accounts().Where("username = ?", username).Limit(1).Scan(ctx, &account)
	if err != nil {
		return Account{}, lookup.Failed("account by user name", err)
	}
	return account, nil
}

// noAccount is the SQL expression of an id that no account has.
const noAccount = `'00000000-0000-0000-0000-000000000000'::uuid`

// termsAsJSON is the SQL expression of Key.Restricted from a row of api_keys named key.
const termsAsJSON = `CASE WHEN key.scopes || key.tags || key.networks <> ''
	OR key.expiration_date IS NOT NULL THEN jsonb_build_object('tags', key.tags,
		'scopes', string_to_array(nullif(key.scopes, ''), ' '),
		'networks', string_to_array(nullif(key.networks, ''), ' '),
		'expires', coalesce(to_char(key.expiration_date, 'YYYY-MM-DD'), ''))
	END`

// Logins returns a login for each of the user names. If no account has the name, the login has no
// id. LEFT JOIN LATERAL makes a known name and an unknown name almost the same work for PostgreSQL:
// one probe of each index and one row. So the time hardly reveals which names exist. The keys are
// columns of arrays, because JSON takes longer to make and to read.
func (q *Reader) Logins(ctx context.Context, usernames []string) ([]Login, error) {
	rows, err := q.db.Prepared(ctx, `
		SELECT asked.username, coalesce(found.id, `+noAccount+`), coalesce(found.plan, ''),
			coalesce(found.active, false), coalesce(found.erased, false),
			coalesce(to_char(found.expiration_date, 'YYYY-MM-DD'), ''),
			coalesce(found.created_at, 'epoch'),
			keys.ids, keys.hashes, keys.terms,
			(SELECT coalesce(max(changed), 0) FROM linkledger.accounts)
		FROM unnest($1::text[]) AS asked (username) LEFT JOIN LATERAL (
			SELECT id, plan, active, erased, expiration_date, created_at
			FROM linkledger.accounts WHERE username = asked.username LIMIT 1
		) AS found ON true CROSS JOIN LATERAL (
			SELECT array_agg(key.id) AS ids, array_agg(key.hash) AS hashes,
				array_agg(`+termsAsJSON+`) AS terms
			FROM linkledger.api_keys AS key
			WHERE account_id = coalesce(found.id, `+noAccount+`) AND revoked_at IS NULL
		) AS keys`, usernames)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanLogin)
}

// scanLogin reads a row of Logins.
func scanLogin(row pgx.CollectableRow) (login Login, err error) {
	var ids, hashes []string
	var terms []*events.KeyTerms
	a := &login.Account
	if err := row.Scan(
		&a.Username, &a.ID, &a.Plan, &a.Active, &a.Erased, &a.ExpirationDate, &a.CreatedAt,
		&ids, &hashes, &terms, &login.Changed,
	); err != nil {
		return Login{}, err
	}
	login.Keys = make([]Key, len(ids))
	for i := range ids {
		login.Keys[i] = Key{ID: ids[i], Hash: hashes[i], Restricted: terms[i]}
	}
	return login, nil
}

// KeyRecord is an API key with what is known of its use.
type KeyRecord struct {
	ID             string     `bun:"id"`
	Name           string     `bun:"name"`
	Scopes         []string   `bun:"scopes,array"`   // empty: all
	Tags           string     `bun:"tags"`           // tag expression; empty: all links
	Networks       []string   `bun:"networks,array"` // empty: all
	ExpirationDate string     `bun:"expiration_date"`
	CreatedAt      time.Time  `bun:"created_at"`
	LastUsed       *time.Time `bun:"last_used"` // nil: never
}

// Keys returns the API keys of an account that are not revoked, in the order in which they were
// added.
func (q *Reader) Keys(ctx context.Context, account uuid.UUID) ([]KeyRecord, error) {
	keys := []KeyRecord{}
	err := q.db.NewSelect().TableExpr("linkledger.api_keys AS key").
		ColumnExpr("key.id, key.name, key.tags, key.created_at").
		ColumnExpr("string_to_array(nullif(key.scopes, ''), ' ') AS scopes").
		ColumnExpr("string_to_array(nullif(key.networks, ''), ' ') AS networks").
		ColumnExpr("coalesce(to_char(key.expiration_date, 'YYYY-MM-DD'), '') AS expiration_date").
		ColumnExpr("used.last_used").
		Join("LEFT JOIN linkledger_durable.key_uses AS used").
		JoinOn("used.account_id = key.account_id AND used.key_id = key.id").
		Where("key.account_id = ? AND key.revoked_at IS NULL", account).
		OrderExpr("key.created_at, key.id").Scan(ctx, &keys)
	if err != nil {
		return nil, lookup.Failed("keys", err)
	}
	return keys, nil
}

// Accounts returns all accounts, sorted by user name.
func (q *Reader) Accounts(ctx context.Context) ([]Account, error) {
	accounts := []Account{}
	if err := q.accounts().OrderExpr("username, id").Scan(ctx, &accounts); err != nil {
		return nil, lookup.Failed("accounts", err)
	}
	return accounts, q.markLostKeys(ctx, accounts)
}

// markLostKeys sets LostKey.
func (q *Reader) markLostKeys(ctx context.Context, accounts []Account) error {
	lost, err := q.db.Keys.Lost(ctx)
	if err != nil && !errors.Is(err, keystore.ErrMissing) { // then there are no keys to lose
		return lookup.Failed("accounts", err)
	}
	for i, a := range accounts {
		accounts[i].LostKey = !a.Erased && a.CreatedAt.Before(lost.At)
	}
	return nil
}

// AccountPage returns a page of the accounts whose user name contains a text, sorted by user name,
// and the total number of these accounts. The empty text selects all accounts.
func (q *Reader) AccountPage(
	ctx context.Context, text string, offset, limit int,
) (accounts []Account, total int64, err error) {
	if !lookup.Storable(text) {
		return nil, 0, nil
	}
	found := q.accounts().Where("position(? IN username) > 0", strings.ToLower(text))
	if total, err = found.Count(ctx); err != nil {
		return nil, 0, lookup.Failed("accounts", err)
	}
	err = found.OrderExpr("username, id").Offset(int64(offset)).Limit(int64(limit)).
		Scan(ctx, &accounts)
	if err != nil {
		return nil, 0, lookup.Failed("accounts", err)
	}
	return accounts, total, q.markLostKeys(ctx, accounts)
}

func (q *Reader) accounts() *bun.SelectQuery {
	return q.db.NewSelect().
		ColumnExpr("id, username, plan, active, erased, created_at").
		ColumnExpr("coalesce(to_char(expiration_date, 'YYYY-MM-DD'), '') AS expiration_date").
		TableExpr("linkledger.accounts")
}

// AccountAt returns the account and its counters as they were at a past moment, or ErrNotFound.
// MonthURLs counts the links created in the month of that moment.
func (q *Reader) AccountAt(
	ctx context.Context, id uuid.UUID, at time.Time,
) (Account, Counters, error) {
	then := asof.At(at)
	account := Account{ID: id}
	err := q.db.NewRaw(`
		SELECT username, plan, active,
			coalesce(to_char(expiration_date, 'YYYY-MM-DD'), '') AS expiration_date
		FROM linkledger.account_versions
		WHERE account_id = ? AND since <= ? ORDER BY since DESC LIMIT 1`, id, then.Nanoseconds()).
		Scan(ctx, &account.Username, &account.Plan, &account.Active, &account.ExpirationDate)
	if err != nil {
		return Account{}, Counters{}, lookup.Failed("account at", err)
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
			return Account{}, Counters{}, lookup.Failed("account at", err)
		}
		*counted.into = int64(set.Count())
	}
	return account, counters, nil
}
