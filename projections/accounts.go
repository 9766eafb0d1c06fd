package projections

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"linkledger/events"
	"linkledger/projections/readmodel"
)

// accountsName is the name of the projection.
const accountsName = "accounts"

// accountProjection returns the projection of the accounts.
func accountProjection() projection {
	return projection{name: accountsName, filter: streams(events.StreamAccount), folds: foldsOf(newAccountFold)}
}

// accountFold brings accounts up to date. It holds those that a batch touches, as they are after the facts so far.
type accountFold struct {
	rows map[uuid.UUID]*readmodel.Account
	// changed are the accounts whose key, plan, state or expiry is another one: logins and redirects may depend on it.
	changed []string
}

func newAccountFold() fold { return &accountFold{rows: make(map[uuid.UUID]*readmodel.Account)} }

func (a *accountFold) read(s *statements, facts []fact) {
	touched := make(map[uuid.UUID]struct{})
	var ids uuidColumn
	for _, f := range facts {
		id, err := f.subject(events.StreamAccount)
		if err != nil {
			continue // step names the fact
		}
		if _, seen := touched[id]; !seen {
			touched[id] = struct{}{}
			ids = append(ids, toUUID(id))
		}
	}
	if len(ids) == 0 {
		return
	}
	s.queue(`SELECT id, username, plan, key_id, key_hash, active, expiration_date, erased, created_at
		FROM ?schema.accounts WHERE id = ANY($1::uuid[])`, ids).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var row readmodel.Account
			if err := rows.Scan(&row.ID, &row.Username, &row.Plan, &row.KeyID, &row.KeyHash, &row.Active,
				&row.ExpirationDate, &row.Erased, &row.CreatedAt); err != nil {
				return err
			}
			a.rows[row.ID] = &row
		}
		return rows.Err()
	})
}

func (a *accountFold) step(f fact) error {
	id, err := f.subject(events.StreamAccount)
	if err != nil {
		return err
	}
	row, ok := a.rows[id]
	if opened, isNew := f.body.(events.AccountOpened); isNew {
		if ok {
			return fmt.Errorf("%w: the account is open", ErrContradiction)
		}
		a.rows[id] = &readmodel.Account{
			ID: id, Username: opened.Username, Plan: opened.Plan, KeyID: opened.KeyID, KeyHash: opened.KeyHash,
			Active: true, CreatedAt: opened.At,
		}
		return checkTime(opened.At)
	}
	if !ok {
		return fmt.Errorf("%w: account %s was never opened", ErrContradiction, id)
	}
	return a.change(row, f)
}

// change applies an event of an open account to its row.
func (a *accountFold) change(row *readmodel.Account, f fact) error {
	switch e := f.body.(type) {
	case events.KeyRotated:
		row.KeyID, row.KeyHash = e.KeyID, e.KeyHash
	case events.PlanChanged:
		row.Plan = e.Plan
	case events.AccountExpiryChanged:
		var err error
		if row.ExpirationDate, err = parseDate(e.ExpirationDate); err != nil {
			return err
		}
	case events.AccountDeactivated:
		row.Active = false
	case events.AccountReactivated:
		row.Active = true
	case events.AccountErased:
		row.Erased = true
	default:
		return errUnexpected(f)
	}
	a.changed = append(a.changed, row.ID.String())
	return nil
}

func (a *accountFold) size() int { return len(a.rows) }

func (a *accountFold) write(s *statements) []string {
	if len(a.rows) > 0 {
		a.writeAccounts(s)
	}
	return a.changed
}

func (a *accountFold) writeAccounts(s *statements) {
	var (
		id                             uuidColumn
		username, plan, keyID, keyHash []string
		active, erased                 []bool
		expires                        dateColumn
		created                        timeColumn
	)
	for _, row := range a.rows {
		id, username, plan = append(id, toUUID(row.ID)), append(username, row.Username), append(plan, row.Plan)
		keyID, keyHash = append(keyID, row.KeyID), append(keyHash, row.KeyHash)
		active, expires, erased = append(active, row.Active), append(expires, toDate(row.ExpirationDate)), append(erased, row.Erased)
		created = append(created, toTime(row.CreatedAt))
	}
	s.queue(`INSERT INTO ?schema.accounts
			(id, username, plan, key_id, key_hash, active, expiration_date, erased, created_at)
		SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bool[], $7::date[],
			$8::bool[], $9::timestamptz[])
		ON CONFLICT (id) DO UPDATE SET
			plan = EXCLUDED.plan, key_id = EXCLUDED.key_id, key_hash = EXCLUDED.key_hash,
			active = EXCLUDED.active, expiration_date = EXCLUDED.expiration_date, erased = EXCLUDED.erased`,
		id, username, plan, keyID, keyHash, active, expires, erased, created)
}
