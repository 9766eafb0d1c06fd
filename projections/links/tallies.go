package links

import (
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"linkledger/events"
	"linkledger/projections/projection"
	"linkledger/projections/sqlbatch"
)

// tally is how many links an account has had so far.
type tally struct {
	created      int64 // also the number of the next one
	restorations int64 // of deleted ones
	deletions    int64
}

// tallyFold holds the tallies of the accounts whose links come and go in a batch.
type tallyFold map[uuid.UUID]*tally

// accountCounting returns the account whose tally a fact changes; false: it changes none.
func accountCounting(f projection.Event) (uuid.UUID, bool, error) {
	var text string
	switch e := f.Body.(type) {
	case events.URLCreated:
		text = e.Account
	case events.URLDeleted:
		text = e.Account
	case events.URLRestored:
		text = e.Account
	default:
		return uuid.Nil, false, nil
	}
	id, err := projection.ParseID(text)
	return id, err == nil, err
}

// Read asks for the tallies. An account has none before its first link.
func (t tallyFold) Read(s *sqlbatch.Batch, facts []projection.Event, loader *linkLoader) {
	var asked sqlbatch.UUIDs
	for _, f := range facts {
		// an error comes up again in step, which names the fact
		account, ok, _ := accountCounting(f)
		if !ok || t[account] != nil {
			continue
		}
		t[account] = &tally{}
		if loader != nil {
			if known, ok := loader.tallies.get(account); ok {
				*t[account] = known
				continue
			}
		}
		asked = append(asked, sqlbatch.UUID(account))
	}
	if len(asked) > 0 {
		s.Queue("SELECT account_id, created, restorations, deletions FROM ?schema.link_tallies "+
			"WHERE account_id = ANY($1::uuid[])",
			asked).Query(t.scan)
	}
}

func (t tallyFold) scan(rows pgx.Rows) error {
	for rows.Next() {
		var account uuid.UUID
		found := &tally{}
		if err := rows.Scan(
			&account, &found.created, &found.restorations, &found.deletions,
		); err != nil {
			return err
		}
		t[account] = found
	}
	return rows.Err()
}

// count counts a fact, and returns the number of the link where it is a creation.
func (t tallyFold) count(f projection.Event) (number int, err error) {
	account, ok, err := accountCounting(f)
	if !ok {
		return 0, err
	}
	counted := t[account]
	switch f.Body.(type) {
	case events.URLCreated:
		number = int(counted.created)
		counted.created++
	case events.URLRestored:
		counted.restorations++
	case events.URLDeleted:
		counted.deletions++
	}
	return number, nil
}

func (t tallyFold) Write(s *sqlbatch.Batch, loader *linkLoader) {
	if len(t) == 0 {
		return
	}
	var account sqlbatch.UUIDs
	var created, restorations, deletions []int64
	for id, counted := range t {
		account, created = append(account, sqlbatch.UUID(id)), append(created, counted.created)
		restorations, deletions = append(
			restorations, counted.restorations,
		), append(deletions, counted.deletions)
		if loader != nil {
			loader.tallies.put(id, *counted)
		}
	}
	s.Queue(`INSERT INTO ?schema.link_tallies (account_id, created, restorations, deletions)
		SELECT * FROM unnest($1::uuid[], $2::integer[], $3::bigint[], $4::bigint[])
		ON CONFLICT (account_id) DO UPDATE
			SET created = EXCLUDED.created, restorations = EXCLUDED.restorations, deletions = EXCLUDED.deletions`,
		account, created, restorations, deletions)
}
