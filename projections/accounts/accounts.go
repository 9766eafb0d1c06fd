package accounts

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"linkledger/events"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// Name is the name of the projection.
const Name = "accounts"

// Projection returns the projection of the accounts, their keys and members, and of the persons who
// sign in.
func Projection() projection.Definition {
	return projection.Definition{
		Name: Name, Filter: projection.Streams(events.StreamAccount, events.StreamUser),
		Folds: projection.FoldsOf(newAccountFold), Outlasts: events.EndsRights,
	}
}

// accountFold updates the tables of accounts, keys, members and people. It holds the rows that a
// batch of events changes, as they are after the events applied so far.
type accountFold struct {
	rows    map[uuid.UUID]*readmodel.Account
	keys    accountKeys
	members accountMembers
	people  people
	// changed lists the ids of the existing accounts that the batch changes, because cached logins
	// and redirects may depend on them.
	changed []string
}

func newAccountFold() projection.Fold {
	return &accountFold{
		rows: make(map[uuid.UUID]*readmodel.Account), keys: make(accountKeys),
		members: make(accountMembers), people: make(people),
	}
}

func (a *accountFold) Read(s *sqlbatch.Batch, batch []projection.Event) {
	touched := make(map[uuid.UUID]struct{})
	var ids, users sqlbatch.UUIDs
	for _, event := range batch {
		id, isUser, err := subject(event)
		if err != nil {
			continue // Apply returns the error
		}
		if _, seen := touched[id]; seen {
			continue
		}
		touched[id] = struct{}{}
		if isUser {
			users = append(users, sqlbatch.UUID(id))
		} else {
			ids = append(ids, sqlbatch.UUID(id))
		}
	}
	a.people.read(s, users)
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
	detached := slices.ContainsFunc(batch, func(e projection.Event) bool { return e.Detached })
	a.keys.read(s, ids, keysOf(batch), detached)
	a.members.read(s, ids, detached)
}

// subject returns the id of the user or the account in whose stream an event lies.
func subject(event projection.Event) (id uuid.UUID, isUser bool, err error) {
	if strings.HasPrefix(event.Stream, events.StreamUser) {
		id, err = event.Subject(events.StreamUser)
		return id, true, err
	}
	id, err = event.Subject(events.StreamAccount)
	return id, false, err
}

func (a *accountFold) Apply(event projection.Event) error {
	id, isUser, err := subject(event)
	if err != nil {
		return err
	}
	if isUser {
		return a.people.apply(id, event)
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
		return a.keys.add(id, event, key{ID: opened.KeyID, Hash: opened.KeyHash}, opened.At)
	}
	if !ok && events.EndsRights(event.Body) {
		return nil // an account that is not known has no rights
	}
	if !ok {
		return fmt.Errorf("%w: account %s was never opened", projection.ErrContradiction, id)
	}
	return a.change(row, event)
}

// change applies an event to the row of an open account.
func (a *accountFold) change(row *readmodel.Account, event projection.Event) error {
	var err error
	switch e := event.Body.(type) {
	case events.KeyRotated:
		a.keys.rotate(row.ID, event, e)
	case events.KeyAdded:
		added := key{ID: e.KeyID, Hash: e.KeyHash}
		if err = setTerms(&added, e.KeyTerms); err == nil {
			err = a.keys.add(row.ID, event, added, e.At)
		}
	case events.KeyChanged:
		err = a.keys.change(row.ID, event, e)
	case events.KeyRevoked:
		a.keys.revoke(row.ID, event, e)
	case events.MemberSet:
		err = a.members.set(row.ID, e, event.CommitPosition())
	case events.MemberRemoved:
		a.members.remove(row.ID, e.User, event.Or(e.At), event.CommitPosition())
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
		a.members.removeAll(row.ID, event.Or(e.At), event.CommitPosition())
	default:
		return projection.Unexpected(event)
	}
	if err != nil {
		return err
	}
	row.Changed = max(row.Changed, event.CommitPosition())
	a.changed = append(a.changed, row.ID.String())
	return nil
}

func (a *accountFold) Size() int {
	return len(a.rows) + len(a.keys) + len(a.members) + len(a.people)
}

func (a *accountFold) Write(s *sqlbatch.Batch) []string {
	if len(a.rows) > 0 {
		rows := slices.Collect(maps.Values(a.rows))
		s.Queue(accountColumns.Insert("?schema.accounts")+`
			ON CONFLICT (id) DO UPDATE SET `+accountColumns.Assign("EXCLUDED"),
			accountColumns.Arrays(rows)...)
	}
	a.keys.write(s)
	a.members.write(s)
	a.people.write(s)
	if len(a.changed) > 0 {
		// Connections have synchronous_commit off, so a crash of PostgreSQL could lose the commit.
		// A revoked key would then work until the projector applies the revocation again.
		s.Queue("SET LOCAL synchronous_commit = on")
	}
	return a.changed
}
