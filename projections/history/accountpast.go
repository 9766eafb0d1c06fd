package history

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"linkledger/events"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// accountPast is an account with what is to be written of its past: the versions that the facts
// have made.
type accountPast struct {
	now     readmodel.Account
	written map[int64]readmodel.Account // by the moment from which each counts
}

func readAccountPasts(s *sqlbatch.Batch, accounts sqlbatch.UUIDs, into map[uuid.UUID]*accountPast) {
	if len(accounts) == 0 {
		return
	}
	s.Queue(`SELECT version.account_id, version.username, version.plan, version.active, version.expiration_date
		FROM unnest($1::uuid[]) AS touched (id) CROSS JOIN LATERAL (
			SELECT * FROM ?schema.account_versions WHERE account_id = touched.id ORDER BY since DESC LIMIT 1) AS version`,
		accounts).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var row readmodel.Account
			if err := rows.Scan(
				&row.ID, &row.Username, &row.Plan, &row.Active, &row.ExpirationDate,
			); err != nil {
				return err
			}
			into[row.ID] = &accountPast{row, make(map[int64]readmodel.Account)}
		}
		return rows.Err()
	})
}

func (h *historyFold) stepAccount(f projection.Event) error {
	id, err := f.Subject(events.StreamAccount)
	if err != nil {
		return err
	}
	past := h.accounts[id]
	if opened, isNew := f.Body.(events.AccountOpened); isNew {
		if past != nil {
			return fmt.Errorf("%w: the account is open", projection.ErrContradiction)
		}
		past = &accountPast{
			readmodel.Account{ID: id, Username: opened.Username, Plan: opened.Plan, Active: true},
			make(map[int64]readmodel.Account),
		}
		h.accounts[id] = past
	} else if past == nil {
		return fmt.Errorf("%w: account %s was never opened", projection.ErrContradiction, id)
	}
	at := h.tick(id, f)
	switch e := f.Body.(type) {
	case events.AccountOpened:
	case events.KeyRotated, events.AccountErased:
		return nil
	case events.PlanChanged:
		past.now.Plan = e.Plan
	case events.AccountExpiryChanged:
		if past.now.ExpirationDate, err = projection.ParseDate(e.ExpirationDate); err != nil {
			return err
		}
	case events.AccountDeactivated:
		past.now.Active = false
	case events.AccountReactivated:
		past.now.Active = true
	default:
		return projection.Unexpected(f)
	}
	past.written[at] = past.now
	return nil
}

func writeAccountPasts(s *sqlbatch.Batch, accounts map[uuid.UUID]*accountPast) {
	var (
		id             sqlbatch.UUIDs
		since          []int64
		username, plan []string
		active         []bool
		expires        sqlbatch.Dates
	)
	for key, past := range accounts {
		for at, row := range past.written {
			id, since, username = append(
				id, sqlbatch.UUID(key),
			), append(since, at), append(username, row.Username)
			plan, active, expires = append(
				plan, row.Plan,
			), append(active, row.Active), append(expires, sqlbatch.Date(row.ExpirationDate))
		}
	}
	if len(id) > 0 {
		s.Queue(`INSERT INTO ?schema.account_versions (account_id, since, username, plan, active, expiration_date)
			SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::text[], $5::bool[], $6::date[])
			ON CONFLICT (account_id, since) DO UPDATE SET
				plan = EXCLUDED.plan, active = EXCLUDED.active, expiration_date = EXCLUDED.expiration_date`,
			id, since, username, plan, active, expires)
	}
}

// tagMoment is when a tag became what it was.
type tagMoment struct {
	tag   uuid.UUID
	since int64
}

type tagVersion struct {
	account uuid.UUID
	label   *string // nil: deleted
}

func (h *historyFold) stepTag(f projection.Event) error {
	account, err := f.Subject(events.StreamTags)
	if err != nil {
		return err
	}
	var tag string
	var label *string
	switch e := f.Body.(type) {
	case events.TagCreated:
		tag, label = e.TagID, &e.Label
	case events.TagRenamed:
		tag, label = e.TagID, &e.Label
	case events.TagDeleted:
		tag = e.TagID
	default:
		return projection.Unexpected(f)
	}
	id, err := projection.ParseID(tag)
	if err != nil {
		return err
	}
	h.tags[tagMoment{id, h.tick(account, f)}] = tagVersion{account, label}
	return nil
}

func writeTagVersions(s *sqlbatch.Batch, tags map[tagMoment]tagVersion) {
	var id, account sqlbatch.UUIDs
	var since []int64
	var label []*string
	for at, tag := range tags {
		id, since = append(id, sqlbatch.UUID(at.tag)), append(since, at.since)
		account, label = append(account, sqlbatch.UUID(tag.account)), append(label, tag.label)
	}
	if len(id) > 0 {
		s.Queue(`INSERT INTO ?schema.tag_versions (tag_id, since, account_id, label)
			SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::text[])
			ON CONFLICT (tag_id, since) DO UPDATE SET label = EXCLUDED.label`, id, since, account,
			label)
	}
}
