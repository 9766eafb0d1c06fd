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

// accountHistory is the current state of an account, with the versions that have to be written.
type accountHistory struct {
	now      readmodel.Account
	versions map[int64]readmodel.Account // by the moment from which they are valid
}

// readAccounts queues the query for the latest version of each account. LATERAL with LIMIT 1 probes
// the primary key once for each account.
func readAccounts(s *sqlbatch.Batch, accounts sqlbatch.UUIDs, into map[uuid.UUID]*accountHistory) {
	if len(accounts) == 0 {
		return
	}
	s.Queue(`
		SELECT version.account_id, version.username, version.plan, version.active,
			version.expiration_date
		FROM unnest($1::uuid[]) AS touched (id) CROSS JOIN LATERAL (
			SELECT * FROM ?schema.account_versions WHERE account_id = touched.id
			ORDER BY since DESC LIMIT 1) AS version`,
		accounts).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var row readmodel.Account
			if err := rows.Scan(
				&row.ID, &row.Username, &row.Plan, &row.Active, &row.ExpirationDate,
			); err != nil {
				return err
			}
			into[row.ID] = &accountHistory{row, make(map[int64]readmodel.Account)}
		}
		return rows.Err()
	})
}

func (h *historyFold) applyAccount(event projection.Event) error {
	id, err := event.Subject(events.StreamAccount)
	if err != nil {
		return err
	}
	past := h.accounts[id]
	if past == nil && events.IsErasure(event.Body) {
		return nil
	}
	if opened, isNew := event.Body.(events.AccountOpened); isNew {
		if past != nil {
			return fmt.Errorf("%w: the account is open", projection.ErrContradiction)
		}
		past = &accountHistory{
			readmodel.Account{ID: id, Username: opened.Username, Plan: opened.Plan, Active: true},
			make(map[int64]readmodel.Account),
		}
		h.accounts[id] = past
	} else if past == nil {
		return fmt.Errorf("%w: account %s was never opened", projection.ErrContradiction, id)
	}
	at := h.tick(id, event)
	switch e := event.Body.(type) {
	case events.AccountOpened:
	case events.KeyRotated, events.KeyAdded, events.KeyChanged, events.KeyRevoked,
		events.MemberSet, events.MemberRemoved, events.AccountErased:
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
		return projection.Unexpected(event)
	}
	past.versions[at] = past.now
	return nil
}

func writeAccounts(s *sqlbatch.Batch, accounts map[uuid.UUID]*accountHistory) {
	var (
		id             sqlbatch.UUIDs
		since          []int64
		username, plan []string
		active         []bool
		expires        sqlbatch.Dates
	)
	for key, past := range accounts {
		for at, row := range past.versions {
			id, since = append(id, sqlbatch.UUID(key)), append(since, at)
			username, plan = append(username, row.Username), append(plan, row.Plan)
			active = append(active, row.Active)
			expires = append(expires, sqlbatch.Date(row.ExpirationDate))
		}
	}
	if len(id) > 0 {
		s.Queue(`
			INSERT INTO ?schema.account_versions
				(account_id, since, username, plan, active, expiration_date)
			SELECT * FROM unnest(
				$1::uuid[], $2::bigint[], $3::text[], $4::text[], $5::bool[], $6::date[])
			ON CONFLICT (account_id, since) DO UPDATE SET
				plan = EXCLUDED.plan, active = EXCLUDED.active,
				expiration_date = EXCLUDED.expiration_date`,
			id, since, username, plan, active, expires)
	}
}

// tagVersionKey identifies a version of a tag by the moment from which it is valid.
type tagVersionKey struct {
	tag   uuid.UUID
	since int64
}

type tagVersion struct {
	account uuid.UUID
	label   *string // nil: deleted
}

func (h *historyFold) applyTag(event projection.Event) error {
	account, err := event.Subject(events.StreamTags)
	if err != nil {
		return err
	}
	var tag string
	var label *string
	switch e := event.Body.(type) {
	case events.TagCreated:
		tag, label = e.TagID, &e.Label
	case events.TagRenamed:
		tag, label = e.TagID, &e.Label
	case events.TagDeleted:
		tag = e.TagID
	default:
		return projection.Unexpected(event)
	}
	id, err := projection.ParseID(tag)
	if err != nil {
		return err
	}
	h.tags[tagVersionKey{id, h.tick(account, event)}] = tagVersion{account, label}
	return nil
}

func writeTagVersions(s *sqlbatch.Batch, tags map[tagVersionKey]tagVersion) {
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
			ON CONFLICT (tag_id, since) DO UPDATE SET label = EXCLUDED.label`,
			id, since, account, label)
	}
}
