package projections

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"linkledger/events"
	"linkledger/projections/readmodel"
)

// accountPast is an account with what is to be written of its past: the versions that the facts have made.
type accountPast struct {
	now     readmodel.Account
	written map[int64]readmodel.Account // by the moment from which each counts
}

func readAccountPasts(s *statements, accounts uuidColumn, into map[uuid.UUID]*accountPast) {
	if len(accounts) == 0 {
		return
	}
	s.queue(`SELECT version.account_id, version.username, version.plan, version.active, version.expiration_date
		FROM unnest($1::uuid[]) AS touched (id) CROSS JOIN LATERAL (
			SELECT * FROM ?schema.account_versions WHERE account_id = touched.id ORDER BY since DESC LIMIT 1) AS version`,
		accounts).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var row readmodel.Account
			if err := rows.Scan(&row.ID, &row.Username, &row.Plan, &row.Active, &row.ExpirationDate); err != nil {
				return err
			}
			into[row.ID] = &accountPast{row, make(map[int64]readmodel.Account)}
		}
		return rows.Err()
	})
}

func (h *historyFold) stepAccount(f fact) error {
	id, err := f.subject(events.StreamAccount)
	if err != nil {
		return err
	}
	past := h.accounts[id]
	if opened, isNew := f.body.(events.AccountOpened); isNew {
		if past != nil {
			return fmt.Errorf("%w: the account is open", ErrContradiction)
		}
		past = &accountPast{
			readmodel.Account{ID: id, Username: opened.Username, Plan: opened.Plan, Active: true}, make(map[int64]readmodel.Account),
		}
		h.accounts[id] = past
	} else if past == nil {
		return fmt.Errorf("%w: account %s was never opened", ErrContradiction, id)
	}
	at := h.tick(id, f)
	switch e := f.body.(type) {
	case events.AccountOpened:
	case events.KeyRotated, events.AccountErased:
		return nil
	case events.PlanChanged:
		past.now.Plan = e.Plan
	case events.AccountExpiryChanged:
		if past.now.ExpirationDate, err = parseDate(e.ExpirationDate); err != nil {
			return err
		}
	case events.AccountDeactivated:
		past.now.Active = false
	case events.AccountReactivated:
		past.now.Active = true
	default:
		return errUnexpected(f)
	}
	past.written[at] = past.now
	return nil
}

func writeAccountPasts(s *statements, accounts map[uuid.UUID]*accountPast) {
	var (
		id             uuidColumn
		since          []int64
		username, plan []string
		active         []bool
		expires        dateColumn
	)
	for key, past := range accounts {
		for at, row := range past.written {
			id, since, username = append(id, toUUID(key)), append(since, at), append(username, row.Username)
			plan, active, expires = append(plan, row.Plan), append(active, row.Active), append(expires, toDate(row.ExpirationDate))
		}
	}
	if len(id) > 0 {
		s.queue(`INSERT INTO ?schema.account_versions (account_id, since, username, plan, active, expiration_date)
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

func (h *historyFold) stepTag(f fact) error {
	account, err := f.subject(events.StreamTags)
	if err != nil {
		return err
	}
	var tag string
	var label *string
	switch e := f.body.(type) {
	case events.TagCreated:
		tag, label = e.TagID, &e.Label
	case events.TagRenamed:
		tag, label = e.TagID, &e.Label
	case events.TagDeleted:
		tag = e.TagID
	default:
		return errUnexpected(f)
	}
	id, err := parseID(tag)
	if err != nil {
		return err
	}
	h.tags[tagMoment{id, h.tick(account, f)}] = tagVersion{account, label}
	return nil
}

func writeTagVersions(s *statements, tags map[tagMoment]tagVersion) {
	var id, account uuidColumn
	var since []int64
	var label []*string
	for at, tag := range tags {
		id, since = append(id, toUUID(at.tag)), append(since, at.since)
		account, label = append(account, toUUID(tag.account)), append(label, tag.label)
	}
	if len(id) > 0 {
		s.queue(`INSERT INTO ?schema.tag_versions (tag_id, since, account_id, label)
			SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::text[])
			ON CONFLICT (tag_id, since) DO UPDATE SET label = EXCLUDED.label`, id, since, account, label)
	}
}
