package accounts

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"linkledger/events"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// Name is the name of the projection.
const Name = "accounts"

// Projection returns the projection of the accounts.
func Projection() projection.Definition {
	return projection.Definition{
		Name: Name, Filter: projection.Streams(events.StreamAccount),
		Folds: projection.FoldsOf(newAccountFold),
	}
}

// accountFold updates the table of accounts. It holds the accounts that a batch touches, as they
// are after the events applied so far.
type accountFold struct {
	rows map[uuid.UUID]*readmodel.Account
	// changed lists the ids of the accounts whose key, plan, state or expiry changed: logins and
	// redirects may depend on these.
	changed []string
}

func newAccountFold() projection.Fold {
	return &accountFold{rows: make(map[uuid.UUID]*readmodel.Account)}
}

func (a *accountFold) Read(s *sqlbatch.Batch, batch []projection.Event) {
	touched := make(map[uuid.UUID]struct{})
	var ids sqlbatch.UUIDs
	for _, event := range batch {
		id, err := event.Subject(events.StreamAccount)
		if err != nil {
			continue // Apply returns the error
		}
		if _, seen := touched[id]; !seen {
			touched[id] = struct{}{}
			ids = append(ids, sqlbatch.UUID(id))
		}
	}
	if len(ids) == 0 {
		return
	}
	s.Queue(`
		SELECT id, username, plan, key_id, key_hash, active, expiration_date, erased, created_at
		FROM ?schema.accounts WHERE id = ANY($1::uuid[])`, ids).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var row readmodel.Account
			if err := rows.Scan(
				&row.ID, &row.Username, &row.Plan, &row.KeyID, &row.KeyHash, &row.Active,
				&row.ExpirationDate, &row.Erased, &row.CreatedAt,
			); err != nil {
				return err
			}
			a.rows[row.ID] = &row
		}
		return rows.Err()
	})
}

func (a *accountFold) Apply(event projection.Event) error {
	id, err := event.Subject(events.StreamAccount)
	if err != nil {
		return err
	}
	row, ok := a.rows[id]
	if opened, isNew := event.Body.(events.AccountOpened); isNew {
		if ok {
			return fmt.Errorf("%w: the account is open", projection.ErrContradiction)
		}
		a.rows[id] = &readmodel.Account{
			ID: id, Username: opened.Username, Plan: opened.Plan, KeyID: opened.KeyID,
			KeyHash: opened.KeyHash, Active: true, CreatedAt: opened.At,
		}
		return projection.CheckTime(opened.At)
	}
	if !ok {
		return fmt.Errorf("%w: account %s was never opened", projection.ErrContradiction, id)
	}
	return a.change(row, event)
}

// change applies an event of an open account to its row.
func (a *accountFold) change(row *readmodel.Account, event projection.Event) error {
	switch e := event.Body.(type) {
	case events.KeyRotated:
		row.KeyID, row.KeyHash = e.KeyID, e.KeyHash
	case events.PlanChanged:
		row.Plan = e.Plan
	case events.AccountExpiryChanged:
		var err error
		if row.ExpirationDate, err = projection.ParseDate(e.ExpirationDate); err != nil {
			return err
		}
	case events.AccountDeactivated:
		row.Active = false
	case events.AccountReactivated:
		row.Active = true
	case events.AccountErased:
		row.Erased = true
	default:
		return projection.Unexpected(event)
	}
	a.changed = append(a.changed, row.ID.String())
	return nil
}

func (a *accountFold) Size() int { return len(a.rows) }

func (a *accountFold) Write(s *sqlbatch.Batch) []string {
	if len(a.rows) > 0 {
		a.writeAccounts(s)
	}
	return a.changed
}

func (a *accountFold) writeAccounts(s *sqlbatch.Batch) {
	var (
		id                             sqlbatch.UUIDs
		username, plan, keyID, keyHash []string
		active, erased                 []bool
		expires                        sqlbatch.Dates
		created                        sqlbatch.Times
	)
	for _, row := range a.rows {
		id = append(id, sqlbatch.UUID(row.ID))
		username, plan = append(username, row.Username), append(plan, row.Plan)
		keyID, keyHash = append(keyID, row.KeyID), append(keyHash, row.KeyHash)
		active, erased = append(active, row.Active), append(erased, row.Erased)
		expires = append(expires, sqlbatch.Date(row.ExpirationDate))
		created = append(created, sqlbatch.Time(row.CreatedAt))
	}
	s.Queue(`INSERT INTO ?schema.accounts
			(id, username, plan, key_id, key_hash, active, expiration_date, erased, created_at)
		SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[],
			$6::bool[], $7::date[], $8::bool[], $9::timestamptz[])
		ON CONFLICT (id) DO UPDATE SET
			plan = EXCLUDED.plan, key_id = EXCLUDED.key_id, key_hash = EXCLUDED.key_hash,
			active = EXCLUDED.active, expiration_date = EXCLUDED.expiration_date,
			erased = EXCLUDED.erased`,
		id, username, plan, keyID, keyHash, active, expires, erased, created)
}
