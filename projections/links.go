package projections

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"linkledger/events"
	"linkledger/projections/readmodel"
)

// applyLinks brings links and their clicks up to date.
func applyLinks(ctx context.Context, tx bun.Tx, facts []fact) ([]string, error) {
	links := linkFold{rows: make(map[uuid.UUID]*readmodel.Link), changed: make(map[string]struct{})}
	var counts countFold
	if err := links.load(ctx, tx, facts); err != nil {
		return nil, err
	}
	err := foldEach(facts, func(f fact) error {
		if batch, ok := f.body.(events.ClicksRecorded); ok {
			return counts.add(batch)
		}
		if err := links.step(f); err != nil {
			return err
		}
		if _, ok := f.body.(events.URLStatsReset); ok {
			return counts.reset(f)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := links.save(ctx, tx); err != nil {
		return nil, err
	}
	return links.hashes(), counts.save(ctx, tx)
}

// linkFold holds the links that a batch touches, as they are after the facts so far.
type linkFold struct {
	rows    map[uuid.UUID]*readmodel.Link
	touched []*readmodel.Link   // in the order of their first fact
	changed map[string]struct{} // hashes that lead elsewhere than before
}

// load reads the links that the facts are about, as far as they exist.
func (l *linkFold) load(ctx context.Context, tx bun.Tx, facts []fact) error {
	known := make(map[uuid.UUID]struct{})
	var ids uuidColumn
	for _, f := range facts {
		id, err := f.subject(events.StreamURL)
		if err != nil {
			continue // a batch of clicks; or else step names the fact
		}
		if _, ok := known[id]; !ok {
			known[id] = struct{}{}
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var rows []*readmodel.Link
	if err := tx.NewSelect().Model(&rows).ModelTableExpr("?schema.links AS link").
		Where("link.id = ANY(?::uuid[])", ids).Scan(ctx); err != nil {
		return fmt.Errorf("read the links: %w", err)
	}
	for _, row := range rows {
		l.rows[row.ID] = row
		l.touched = append(l.touched, row)
	}
	return nil
}

func (l *linkFold) step(f fact) error {
	id, err := f.subject(events.StreamURL)
	if err != nil {
		return err
	}
	switch f.body.(type) {
	case events.ClaimAbandoned, events.CreationAbandoned:
		return nil // about a claim that this link never used; there may be no link at all
	}
	row, ok := l.rows[id]
	if created, isNew := f.body.(events.URLCreated); isNew {
		if ok {
			return fmt.Errorf("%w: the link exists", ErrContradiction)
		}
		if row, err = newLink(id, f, created); err != nil {
			return err
		}
		l.rows[id] = row
		l.touched = append(l.touched, row)
		l.changed[row.Hash] = struct{}{}
		return nil
	}
	if !ok {
		return fmt.Errorf("%w: the link was never created", ErrContradiction)
	}
	if !row.DeletedAt.IsZero() {
		return fmt.Errorf("%w: the link is deleted", ErrContradiction)
	}
	row.Revision = int64(f.Revision)
	l.changed[row.Hash] = struct{}{}
	err = changeLink(row, f)
	l.changed[row.Hash] = struct{}{}
	return err
}

// hashes returns the hashes that lead elsewhere than before the facts.
func (l *linkFold) hashes() []string { return slices.Collect(maps.Keys(l.changed)) }

func newLink(id uuid.UUID, f fact, e events.URLCreated) (*readmodel.Link, error) {
	account, err := parseID(e.Account)
	if err != nil {
		return nil, err
	}
	expires, err := parseDate(e.ExpirationDate)
	if err != nil {
		return nil, err
	}
	tags, err := parseIDs(e.Tags)
	if err != nil {
		return nil, err
	}
	return &readmodel.Link{
		ID: id, AccountID: account, Hash: e.Hash, LongURL: e.LongURL, Note: e.Note, EmailStats: e.EmailStats,
		ExpirationDate: expires, MaxClicks: e.MaxClicks, TagIDs: attach(nil, tags),
		CreatedAt: e.At, ModifiedAt: e.At, Position: f.commit(), Revision: int64(f.Revision),
	}, checkTime(e.At)
}

// changeLink applies an event of a live link to its row.
func changeLink(row *readmodel.Link, f fact) error {
	switch e := f.body.(type) {
	case events.URLRetargeted:
		row.LongURL = e.LongURL
		return modified(row, e.At)
	case events.URLRenamed:
		row.Hash = e.To
		return modified(row, e.At)
	case events.URLSettingsChanged:
		return changeSettings(row, e)
	case events.URLTagged:
		tags, err := parseIDs(e.Tags)
		if err != nil {
			return err
		}
		row.TagIDs = attach(row.TagIDs, tags)
		return modified(row, e.At)
	case events.URLUntagged:
		tags, err := parseIDs(e.Tags)
		if err != nil {
			return err
		}
		row.TagIDs = slices.DeleteFunc(row.TagIDs, func(id uuid.UUID) bool { return slices.Contains(tags, id) })
		return modified(row, e.At)
	case events.URLStatsReset:
		return checkTime(e.At) // countFold starts the counters anew; the link is as it was
	case events.URLDeleted:
		row.DeletedAt = e.At
		return checkTime(e.At)
	}
	return errUnexpected(f)
}

func changeSettings(row *readmodel.Link, e events.URLSettingsChanged) error {
	set(&row.Note, e.Note)
	set(&row.EmailStats, e.EmailStats)
	set(&row.Ping, e.Ping)
	set(&row.Protected, e.Protected)
	set(&row.Archived, e.Archived)
	set(&row.MaxClicks, e.MaxClicks)
	if e.ExpirationDate != nil {
		expires, err := parseDate(*e.ExpirationDate)
		if err != nil {
			return err
		}
		row.ExpirationDate = expires
	}
	return modified(row, e.At)
}

// set takes over a setting that got another value.
func set[T any](field, changed *T) {
	if changed != nil {
		*field = *changed
	}
}

func modified(row *readmodel.Link, at time.Time) error {
	row.ModifiedAt = at
	return checkTime(at)
}

// attach appends the tags that are not attached yet.
func attach(attached, tags []uuid.UUID) []uuid.UUID {
	for _, id := range tags {
		if !slices.Contains(attached, id) {
			attached = append(attached, id)
		}
	}
	return attached
}

// linkColumns are the touched links, turned by a quarter.
type linkColumns struct {
	id, account                           uuidColumn
	hash, longURL, note                   []string
	emailStats, ping, protected, archived boolColumn
	expires                               dateColumn
	maxClicks, position, revision         []int64
	tags                                  uuidsColumn
	created, modified, deleted            timeColumn
}

func (c *linkColumns) add(row *readmodel.Link) {
	c.id, c.account = append(c.id, row.ID), append(c.account, row.AccountID)
	c.hash, c.longURL, c.note = append(c.hash, row.Hash), append(c.longURL, row.LongURL), append(c.note, row.Note)
	c.emailStats, c.ping = append(c.emailStats, row.EmailStats), append(c.ping, row.Ping)
	c.protected, c.archived = append(c.protected, row.Protected), append(c.archived, row.Archived)
	c.expires, c.maxClicks = append(c.expires, row.ExpirationDate), append(c.maxClicks, row.MaxClicks)
	c.tags = append(c.tags, row.TagIDs)
	c.created, c.modified = append(c.created, row.CreatedAt), append(c.modified, row.ModifiedAt)
	c.position, c.revision = append(c.position, row.Position), append(c.revision, row.Revision)
	c.deleted = append(c.deleted, row.DeletedAt)
}

func (l *linkFold) save(ctx context.Context, tx bun.Tx) error {
	if len(l.touched) == 0 {
		return nil
	}
	var c linkColumns
	for _, row := range l.touched {
		c.add(row)
	}
	_, err := tx.NewRaw(`
		INSERT INTO ?schema.links (id, account_id, hash, long_url, note, email_stats, ping, protected, archived,
			expiration_date, max_clicks, tag_ids, created_at, modified_at, position, revision, deleted_at)
		SELECT id, account_id, hash, long_url, note, email_stats, ping, protected, archived,
			expiration_date, max_clicks, tag_ids::uuid[], created_at, modified_at, position, revision, deleted_at
		FROM unnest(?::uuid[], ?::uuid[], ?::text[], ?::text[], ?::text[], ?::bool[], ?::bool[], ?::bool[], ?::bool[],
			?::date[], ?::bigint[], ?::text[], ?::timestamptz[], ?::timestamptz[], ?::bigint[], ?::bigint[],
			?::timestamptz[])
			AS folded (id, account_id, hash, long_url, note, email_stats, ping, protected, archived,
			expiration_date, max_clicks, tag_ids, created_at, modified_at, position, revision, deleted_at)
		ON CONFLICT (id) DO UPDATE SET
			hash = EXCLUDED.hash, long_url = EXCLUDED.long_url, note = EXCLUDED.note,
			email_stats = EXCLUDED.email_stats, ping = EXCLUDED.ping, protected = EXCLUDED.protected,
			archived = EXCLUDED.archived, expiration_date = EXCLUDED.expiration_date,
			max_clicks = EXCLUDED.max_clicks, tag_ids = EXCLUDED.tag_ids, modified_at = EXCLUDED.modified_at,
			revision = EXCLUDED.revision, deleted_at = EXCLUDED.deleted_at`,
		c.id, c.account, pgdialect.Array(c.hash), pgdialect.Array(c.longURL), pgdialect.Array(c.note),
		c.emailStats, c.ping, c.protected, c.archived,
		c.expires, pgdialect.Array(c.maxClicks), c.tags, c.created, c.modified,
		pgdialect.Array(c.position), pgdialect.Array(c.revision), c.deleted).Exec(ctx)
	if err != nil {
		return fmt.Errorf("write the links: %w", err)
	}
	return nil
}
