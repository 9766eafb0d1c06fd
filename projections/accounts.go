package projections

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"linkledger/events"
	"linkledger/projections/readmodel"
)

// applyAccounts brings accounts and their counters up to date.
func applyAccounts(ctx context.Context, tx bun.Tx, facts []fact) ([]string, error) {
	fold := accountFold{rows: make(map[uuid.UUID]*readmodel.Account), months: make(map[accountMonth]int64)}
	if err := fold.load(ctx, tx, facts); err != nil {
		return nil, err
	}
	if err := foldEach(facts, fold.step); err != nil {
		return nil, err
	}
	if err := fold.save(ctx, tx); err != nil {
		return nil, err
	}
	return fold.switched, fold.saveMonths(ctx, tx)
}

// accountFold holds the accounts that a batch touches, as they are after the facts so far.
type accountFold struct {
	rows   map[uuid.UUID]*readmodel.Account
	months map[accountMonth]int64 // links created, to be added
	// switched are the accounts that became active or inactive, or expire on another day: their links redirect or no
	// longer do.
	switched []string
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
	case events.URLRetargeted, events.URLRenamed, events.URLSettingsChanged, events.URLTagged, events.URLUntagged,
		events.URLStatsReset, events.ClaimAbandoned, events.CreationAbandoned:
		return uuid.Nil, false, nil
	default:
		id, err = f.subject(events.StreamAccount)
	}
	return id, err == nil, err
}

// load reads the accounts that the facts touch, as far as they exist.
func (a *accountFold) load(ctx context.Context, tx bun.Tx, facts []fact) error {
	touched := make(map[uuid.UUID]struct{})
	for _, f := range facts {
		if id, ok, _ := accountOf(f); ok { // an error comes up again in step, which names the fact
			touched[id] = struct{}{}
		}
	}
	if len(touched) == 0 {
		return nil
	}
	ids := make(uuidColumn, 0, len(touched))
	for id := range touched {
		ids = append(ids, id)
	}
	var rows []*readmodel.Account
	if err := tx.NewSelect().Model(&rows).ModelTableExpr("?schema.accounts AS account").
		Where("account.id = ANY(?::uuid[])", ids).Scan(ctx); err != nil {
		return fmt.Errorf("read the accounts: %w", err)
	}
	for _, row := range rows {
		a.rows[row.ID] = row
	}
	return nil
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
		a.switched = append(a.switched, row.ID.String())
	case events.AccountDeactivated:
		row.Active = false
		a.switched = append(a.switched, row.ID.String())
	case events.AccountReactivated:
		row.Active = true
		a.switched = append(a.switched, row.ID.String())
	case events.URLCreated:
		if err := checkTime(e.At); err != nil {
			return err
		}
		row.URLs++
		year, month, _ := e.At.UTC().Date()
		a.months[accountMonth{row.ID, time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)}]++
	case events.URLDeleted:
		row.URLs--
		row.Deletions++
	default:
		return errUnexpected(f)
	}
	return nil
}

func (a *accountFold) save(ctx context.Context, tx bun.Tx) error {
	if len(a.rows) == 0 {
		return nil
	}
	var (
		id                             uuidColumn
		username, plan, keyID, keyHash []string
		active                         boolColumn
		expires                        dateColumn
		created                        timeColumn
		urls, deletions                []int64
	)
	for _, row := range a.rows {
		id, username, plan = append(id, row.ID), append(username, row.Username), append(plan, row.Plan)
		keyID, keyHash = append(keyID, row.KeyID), append(keyHash, row.KeyHash)
		active, expires, created = append(active, row.Active), append(expires, row.ExpirationDate), append(created, row.CreatedAt)
		urls, deletions = append(urls, row.URLs), append(deletions, row.Deletions)
	}
	_, err := tx.NewRaw(`
		INSERT INTO ?schema.accounts (id, username, plan, key_id, key_hash, active, expiration_date, created_at, urls, deletions)
		SELECT * FROM unnest(?::uuid[], ?::text[], ?::text[], ?::text[], ?::text[], ?::bool[], ?::date[], ?::timestamptz[], ?::bigint[],
			?::bigint[])
		ON CONFLICT (id) DO UPDATE SET
			plan = EXCLUDED.plan, key_id = EXCLUDED.key_id, key_hash = EXCLUDED.key_hash,
			active = EXCLUDED.active, expiration_date = EXCLUDED.expiration_date, urls = EXCLUDED.urls,
			deletions = EXCLUDED.deletions`,
		id, pgdialect.Array(username), pgdialect.Array(plan), pgdialect.Array(keyID), pgdialect.Array(keyHash),
		active, expires, created, pgdialect.Array(urls), pgdialect.Array(deletions)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("write the accounts: %w", err)
	}
	return nil
}

func (a *accountFold) saveMonths(ctx context.Context, tx bun.Tx) error {
	if len(a.months) == 0 {
		return nil
	}
	var account uuidColumn
	var month timeColumn
	var created []int64
	for key, n := range a.months {
		account, month, created = append(account, key.account), append(month, key.month), append(created, n)
	}
	_, err := tx.NewRaw(`
		INSERT INTO ?schema.account_months AS m (account_id, month, urls)
		SELECT * FROM unnest(?::uuid[], ?::date[], ?::bigint[])
		ON CONFLICT (account_id, month) DO UPDATE SET urls = m.urls + EXCLUDED.urls`,
		account, month, pgdialect.Array(created)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("count the links of the month: %w", err)
	}
	return nil
}
