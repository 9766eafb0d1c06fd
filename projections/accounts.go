package projections

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"linkledger/events"
	"linkledger/projections/readmodel"
)

// accountFold brings accounts and their counters up to date. It holds the accounts that a batch touches, as they are
// after the facts so far.
type accountFold struct {
	rows   map[uuid.UUID]*readmodel.Account
	months map[accountMonth]int64 // links created, to be added
	// changed are the accounts whose key, plan, state or expiry is another one: logins and redirects may depend on it.
	changed []string
}

func newAccountFold() fold {
	return &accountFold{rows: make(map[uuid.UUID]*readmodel.Account), months: make(map[accountMonth]int64)}
}

type accountMonth struct {
	account uuid.UUID
	month   time.Time
}

// accountOf returns the id of the account that a fact touches; false for the facts that touch none.
func accountOf(f fact) (uuid.UUID, bool, error) {
	var id uuid.UUID
	var err error
	switch e := f.body.(type) {
	case events.URLCreated:
		id, err = parseID(e.Account)
	case events.URLDeleted:
		id, err = parseID(e.Account)
	case events.URLRestored:
		id, err = parseID(e.Account)
	case events.URLRetargeted, events.URLRenamed, events.URLSettingsChanged, events.URLTagged, events.URLUntagged,
		events.URLStatsReset, events.URLStatsRestored, events.ClaimAbandoned, events.CreationAbandoned:
		return uuid.Nil, false, nil
	default:
		id, err = f.subject(events.StreamAccount)
	}
	return id, err == nil, err
}

func (a *accountFold) read(s *statements, facts []fact) {
	touched := make(map[uuid.UUID]struct{})
	var ids uuidColumn
	for _, f := range facts {
		id, ok, _ := accountOf(f) // an error comes up again in step, which names the fact
		if _, seen := touched[id]; ok && !seen {
			touched[id] = struct{}{}
			ids = append(ids, toUUID(id))
		}
	}
	if len(ids) == 0 {
		return
	}
	s.queue(`SELECT id, username, plan, key_id, key_hash, active, expiration_date, erased, created_at, urls, deletions
		FROM ?schema.accounts WHERE id = ANY($1::uuid[])`, ids).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var row readmodel.Account
			if err := rows.Scan(&row.ID, &row.Username, &row.Plan, &row.KeyID, &row.KeyHash, &row.Active,
				&row.ExpirationDate, &row.Erased, &row.CreatedAt, &row.URLs, &row.Deletions); err != nil {
				return err
			}
			a.rows[row.ID] = &row
		}
		return rows.Err()
	})
}

func (a *accountFold) step(f fact) error {
	id, touches, err := accountOf(f)
	if err != nil || !touches {
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

// change applies an event of an open account, or of one of its links, to the account's row.
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
	case events.URLCreated:
		if err := checkTime(e.At); err != nil {
			return err
		}
		row.URLs++
		year, month, _ := e.At.UTC().Date()
		a.months[accountMonth{row.ID, time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)}]++
		return nil
	case events.URLRestored:
		row.URLs++ // and the deletion stays counted
		return nil
	case events.URLDeleted:
		row.URLs--
		row.Deletions++
		return nil
	default:
		return errUnexpected(f)
	}
	a.changed = append(a.changed, row.ID.String())
	return nil
}

func (a *accountFold) write(s *statements) []string {
	if len(a.rows) > 0 {
		a.writeAccounts(s)
	}
	if len(a.months) > 0 {
		a.writeMonths(s)
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
		urls, deletions                []int64
	)
	for _, row := range a.rows {
		id, username, plan = append(id, toUUID(row.ID)), append(username, row.Username), append(plan, row.Plan)
		keyID, keyHash = append(keyID, row.KeyID), append(keyHash, row.KeyHash)
		active, expires, erased = append(active, row.Active), append(expires, toDate(row.ExpirationDate)), append(erased, row.Erased)
		created, urls, deletions = append(created, toTime(row.CreatedAt)), append(urls, row.URLs), append(deletions, row.Deletions)
	}
	s.queue(`INSERT INTO ?schema.accounts
			(id, username, plan, key_id, key_hash, active, expiration_date, erased, created_at, urls, deletions)
		SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bool[], $7::date[],
			$8::bool[], $9::timestamptz[], $10::bigint[], $11::bigint[])
		ON CONFLICT (id) DO UPDATE SET
			plan = EXCLUDED.plan, key_id = EXCLUDED.key_id, key_hash = EXCLUDED.key_hash,
			active = EXCLUDED.active, expiration_date = EXCLUDED.expiration_date, erased = EXCLUDED.erased,
			urls = EXCLUDED.urls, deletions = EXCLUDED.deletions`,
		id, username, plan, keyID, keyHash, active, expires, erased, created, urls, deletions)
}

func (a *accountFold) writeMonths(s *statements) {
	var account uuidColumn
	var month dateColumn
	var created []int64
	for key, n := range a.months {
		account, month, created = append(account, toUUID(key.account)), append(month, toDate(&key.month)), append(created, n)
	}
	s.queue(`INSERT INTO ?schema.account_months AS m (account_id, month, urls)
		SELECT * FROM unnest($1::uuid[], $2::date[], $3::bigint[])
		ON CONFLICT (account_id, month) DO UPDATE SET urls = m.urls + EXCLUDED.urls`, account, month, created)
}
