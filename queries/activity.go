package queries

import (
	"context"
	"time"

	"linkledger/queries/lookup"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
)

// Activity is a call that has changed something of an account.
type Activity struct {
	Batch    uuid.UUID `bun:"batch"`
	Position int64     `bun:"position"` // commit position of its first event
	At       time.Time `bun:"at"`       // of its first event, by the clock of the event store
	LastAt   time.Time `bun:"last_at"`  // of its last event, by the same clock
	Key      string    `bun:"key_id"`
	KeyName  string    `bun:"key_name"` // also of a revoked key; empty: it has none
	User     uuid.UUID `bun:"user_id"`  // the person who called; zero: none
	UserName string    `bun:"-"`        // as Person.Label returns it
	Via      string    `bun:"via"`      // see events.Metadata
	Request  string    `bun:"request"`
	Created  int       `bun:"created"` // links
	Edited   int       `bun:"edited"`
	Deleted  int       `bun:"deleted"`
	Restored int       `bun:"restored"`
	Reset    int       `bun:"reset"`   // links whose clicks were reset
	Tags     int       `bun:"tags"`    // changes of tags
	Account  int       `bun:"account"` // changes of the account and its keys
	// Undoes is the call that this call undoes, or zero. UndoesKey is the key whose changes this
	// call undoes, or empty. This call undoes the changes of that key since UndoesSince.
	Undoes      uuid.UUID  `bun:"undoes"`
	UndoesKey   string     `bun:"undoes_key"`
	UndoesSince *time.Time `bun:"undoes_since"`
	// UndoneBy is the last call that has undone this one and was not undone itself; zero: none.
	UndoneBy uuid.UUID `bun:"-"`
}

const activityColumns = `activity.batch, activity.position, activity.at, activity.last_at,
	activity.key_id, activity.user_id, activity.via, activity.request, activity.created,
	activity.edited, activity.deleted, activity.restored, activity.reset, activity.tags,
	activity.account, activity.undoes, activity.undoes_key, activity.undoes_since`

// ActivityKind is a kind of change that a call makes. It is the name of the column that counts
// these changes.
type ActivityKind string

// ActivityKinds returns all kinds.
func ActivityKinds() []ActivityKind {
	return []ActivityKind{"created", "edited", "deleted", "restored", "reset", "tags", "account"}
}

// ActivityQuery selects calls of an account. A field without a value does not restrict them.
type ActivityQuery struct {
	Account  uuid.UUID
	Key      string    // id of the key
	User     uuid.UUID // the person
	Via      string    // see events.Metadata
	Kind     ActivityKind
	Batch    uuid.UUID
	Request  string
	From, To time.Time // calls that began at From or later, and before To
	Offset   int
	Limit    int
}

// Activity returns a page of the calls of an account, the latest first, and the number of calls on
// all pages.
func (q *DB) Activity(ctx context.Context, of ActivityQuery) ([]Activity, int64, error) {
	page := []Activity{}
	if !lookup.Storable(of.Key) || !lookup.Storable(of.Via) || !lookup.Storable(of.Request) {
		return page, 0, nil
	}
	total, err := q.selectActivity(of).Count(ctx)
	if err != nil {
		return nil, 0, lookup.Failed("activity", err)
	}
	err = q.selectActivity(of).ColumnExpr(activityColumns+", coalesce(key.name, '') AS key_name").
		Join("LEFT JOIN linkledger.api_keys AS key").
		JoinOn("key.account_id = activity.account_id AND key.id = activity.key_id").
		OrderExpr("activity.position DESC").Offset(int64(of.Offset)).Limit(int64(of.Limit)).
		Scan(ctx, &page)
	if err == nil {
		err = q.addUndone(ctx, of.Account, page)
	}
	if err == nil {
		err = q.addUserNames(ctx, page)
	}
	if err != nil {
		return nil, 0, lookup.Failed("activity", err)
	}
	return page, total, nil
}

func (q *DB) addUserNames(ctx context.Context, calls []Activity) error {
	var users []uuid.UUID
	for _, call := range calls {
		if call.User != uuid.Nil {
			users = append(users, call.User)
		}
	}
	people, err := q.People(ctx, users)
	for i := range calls {
		calls[i].UserName = people[calls[i].User].Label()
	}
	return err
}

func (q *DB) selectActivity(of ActivityQuery) *bun.SelectQuery {
	query := q.db.NewSelect().TableExpr("linkledger.activity").
		Where("activity.account_id = ?", of.Account)
	if of.Key != "" {
		query = query.Where("activity.key_id = ?", of.Key)
	}
	if of.User != uuid.Nil {
		query = query.Where("activity.user_id = ?", of.User)
	}
	if of.Via != "" {
		query = query.Where("activity.via = ?", of.Via)
	}
	if of.Kind != "" {
		query = query.Where("activity.? > 0", bun.Ident(of.Kind))
	}
	if of.Batch != uuid.Nil {
		query = query.Where("activity.batch = ?", of.Batch)
	}
	if of.Request != "" {
		query = query.Where("activity.request = ?", of.Request)
	}
	if !of.From.IsZero() {
		query = query.Where("activity.at >= ?", of.From)
	}
	if !of.To.IsZero() {
		query = query.Where("activity.at < ?", of.To)
	}
	return query
}

// maxUndoDepth bounds how far a chain of undoings of undoings is followed. An undoing at the bound
// counts as not undone.
const maxUndoDepth = 20

// addUndone sets UndoneBy of calls.
func (q *DB) addUndone(ctx context.Context, account uuid.UUID, calls []Activity) error {
	known := make([]*Activity, len(calls))
	for i := range calls {
		known[i] = &calls[i]
	}
	levels := [][]*Activity{known}
	for range maxUndoDepth {
		undoings, err := q.undoings(ctx, account, levels[len(levels)-1])
		if err != nil {
			return err
		}
		if len(undoings) == 0 {
			break
		}
		levels = append(levels, undoings)
	}
	for depth := len(levels) - 1; depth > 0; depth-- {
		for _, call := range levels[depth-1] {
			for _, undoing := range levels[depth] { // in the order of the log: the last one wins
				if undoing.UndoneBy == uuid.Nil && undoing.undoes(call) {
					call.UndoneBy = undoing.Batch
				}
			}
		}
	}
	return nil
}

// undoes reports whether a call undoes another.
func (a *Activity) undoes(other *Activity) bool {
	if a.UndoesKey != "" {
		return a.UndoesKey == other.Key && a.Position > other.Position &&
			a.UndoesSince != nil && !other.LastAt.Before(*a.UndoesSince)
	}
	return a.Undoes != uuid.Nil && a.Undoes == other.Batch
}

// undoings returns the calls that may undo one of the given calls, in the order of the log.
func (q *DB) undoings(
	ctx context.Context, account uuid.UUID, of []*Activity,
) (undoings []*Activity, err error) {
	batches, keys := make([]uuid.UUID, len(of)), make([]string, 0, len(of))
	for i, call := range of {
		batches[i] = call.Batch
		if call.Key != "" {
			keys = append(keys, call.Key)
		}
	}
	err = q.db.NewRaw(`
		SELECT `+activityColumns+` FROM linkledger.activity
		WHERE account_id = ?0 AND undoes = ANY(?1::uuid[])
			AND undoes <> '00000000-0000-0000-0000-000000000000'
		UNION ALL
		SELECT `+activityColumns+` FROM linkledger.activity
		WHERE account_id = ?0 AND undoes_key = ANY(?2::text[]) AND undoes_key <> ''
		ORDER BY position`,
		account, pgdialect.Array(batches), pgdialect.Array(keys)).Scan(ctx, &undoings)
	return undoings, err
}

// KeyLinks returns the ids of the links that calls with a key changed since a time, including links
// deleted since.
func (q *DB) KeyLinks(
	ctx context.Context, account uuid.UUID, key string, since time.Time,
) (ids []uuid.UUID, err error) {
	err = q.db.NewRaw(`
		SELECT DISTINCT changed.url_id FROM linkledger.activity
		JOIN linkledger.link_batches AS changed ON changed.batch = activity.batch
		WHERE activity.account_id = ? AND activity.key_id = ? AND activity.last_at >= ?`,
		account, key, since).Scan(ctx, &ids)
	if err != nil {
		return nil, lookup.Failed("links of a key", err)
	}
	return ids, nil
}

// HasKey reports whether an account has or had a key.
func (q *DB) HasKey(ctx context.Context, account uuid.UUID, key string) (has bool, err error) {
	if !lookup.Storable(key) {
		return false, nil
	}
	err = q.db.NewRaw(
		"SELECT EXISTS (SELECT FROM linkledger.api_keys WHERE account_id = ? AND id = ?)",
		account, key).Scan(ctx, &has)
	if err != nil {
		return false, lookup.Failed("key", err)
	}
	return has, nil
}
