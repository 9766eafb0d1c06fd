package links

import (
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"linkledger/events"
	"linkledger/projections/projection"
	"linkledger/projections/sqlbatch"
)

// accountCounts counts the events that change the number of an account's links.
type accountCounts struct {
	created      int64 // also the number of the next link
	restorations int64 // of deleted links
	deletions    int64
}

// accountCountsFold holds the counts of the accounts for which a batch creates, restores or deletes
// links.
type accountCountsFold map[uuid.UUID]*accountCounts

// countedAccount returns the account whose counts an event changes. It returns false if the event
// changes no counts.
func countedAccount(event projection.Event) (uuid.UUID, bool, error) {
	var text string
	switch e := event.Body.(type) {
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

// Read queues the query for the counts. An account has no row before its first link.
func (t accountCountsFold) Read(s *sqlbatch.Batch, batch []projection.Event, loader *linkLoader) {
	var asked sqlbatch.UUIDs
	for _, event := range batch {
		account, ok, _ := countedAccount(event) // Apply returns the error
		if !ok || t[account] != nil {
			continue
		}
		t[account] = &accountCounts{}
		if loader != nil {
			if known, ok := loader.accounts.get(account); ok {
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

func (t accountCountsFold) scan(rows pgx.Rows) error {
	for rows.Next() {
		var account uuid.UUID
		found := &accountCounts{}
		if err := rows.Scan(
			&account, &found.created, &found.restorations, &found.deletions,
		); err != nil {
			return err
		}
		t[account] = found
	}
	return rows.Err()
}

// count counts an event. It returns the number of the new link if the event is a creation.
func (t accountCountsFold) count(event projection.Event) (number int, err error) {
	account, ok, err := countedAccount(event)
	if !ok {
		return 0, err
	}
	counted := t[account]
	switch event.Body.(type) {
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

func (t accountCountsFold) Write(s *sqlbatch.Batch, loader *linkLoader) {
	var account sqlbatch.UUIDs
	var created, restorations, deletions []int64
	for id, counted := range t {
		// All are 0 if the only event so far deletes a link whose creation is set aside.
		if *counted == (accountCounts{}) {
			continue
		}
		account, created = append(account, sqlbatch.UUID(id)), append(created, counted.created)
		restorations = append(restorations, counted.restorations)
		deletions = append(deletions, counted.deletions)
		if loader != nil {
			loader.accounts.put(id, *counted)
		}
	}
	if len(account) == 0 {
		return
	}
	s.Queue(`INSERT INTO ?schema.link_tallies (account_id, created, restorations, deletions)
		SELECT * FROM unnest($1::uuid[], $2::integer[], $3::bigint[], $4::bigint[])
		ON CONFLICT (account_id) DO UPDATE SET
			created = EXCLUDED.created, restorations = EXCLUDED.restorations,
			deletions = EXCLUDED.deletions`,
		account, created, restorations, deletions)
}
