package accounts

import (
	"fmt"
	"maps"
	"slices"

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

// accountFold updates the tables of accounts and their keys. It holds the accounts that a batch
// touches, as they are after the events applied so far.
type accountFold struct {
	rows map[uuid.UUID]*readmodel.Account
	keys accountKeys
	// changed lists the ids of the accounts whose keys, plan, state or expiry changed: logins and
	// redirects may depend on these.
	changed []string
}

func newAccountFold() projection.Fold {
	return &accountFold{rows: make(map[uuid.UUID]*readmodel.Account), keys: make(accountKeys)}
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
	s.Queue(`SELECT `+accountColumns.List("")+` FROM ?schema.accounts
		WHERE id = ANY($1::uuid[])`, ids).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var row readmodel.Account
			if err := rows.Scan(accountColumns.Scan(&row)...); err != nil {
				return err
			}
			a.rows[row.ID] = &row
		}
		return rows.Err()
	})
	a.keys.read(s, ids)
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
			ID: id, Username: opened.Username, Plan: opened.Plan, Active: true,
			CreatedAt: opened.At,
		}
		return a.keys.add(id, opened.KeyID, opened.KeyHash, events.KeyTerms{}, opened.At)
	}
	if !ok {
		return fmt.Errorf("%w: account %s was never opened", projection.ErrContradiction, id)
	}
	return a.change(row, event)
}

// change applies an event of an open account to its row.
func (a *accountFold) change(row *readmodel.Account, event projection.Event) error {
	var err error
	switch e := event.Body.(type) {
	case events.KeyRotated:
		a.keys.revokeAll(row.ID, e.At)
		err = a.keys.add(row.ID, e.KeyID, e.KeyHash, events.KeyTerms{}, e.At)
	case events.KeyAdded:
		err = a.keys.add(row.ID, e.KeyID, e.KeyHash, e.KeyTerms, e.At)
	case events.KeyChanged:
		err = a.keys.change(row.ID, e)
	case events.KeyRevoked:
		err = a.keys.revoke(row.ID, e)
	case events.PlanChanged:
		row.Plan = e.Plan
	case events.AccountExpiryChanged:
		row.ExpirationDate, err = projection.ParseDate(e.ExpirationDate)
	case events.AccountDeactivated:
		row.Active = false
	case events.AccountReactivated:
		row.Active = true
	case events.AccountErased:
		row.Erased = true
	default:
		return projection.Unexpected(event)
	}
	if err != nil {
		return err
	}
	row.Changed = event.CommitPosition()
	a.changed = append(a.changed, row.ID.String())
	return nil
}

func (a *accountFold) Size() int { return len(a.rows) + len(a.keys) }

func (a *accountFold) Write(s *sqlbatch.Batch) []string {
	if len(a.rows) > 0 {
		rows := slices.Collect(maps.Values(a.rows))
		s.Queue(accountColumns.Insert("?schema.accounts")+`
			ON CONFLICT (id) DO UPDATE SET `+accountColumns.Assign("EXCLUDED"),
			accountColumns.Arrays(rows)...)
	}
	a.keys.write(s)
	if len(a.changed) > 0 {
		// A crash of PostgreSQL must not bring back a revoked key, not even until the projector has
		// applied the revocation again.
		s.Queue("SET LOCAL synchronous_commit = on")
	}
	return a.changed
}
