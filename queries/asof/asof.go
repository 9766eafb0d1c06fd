// Package asof knows which tables and rows of the read models show the links as of a time: now, or
// a moment of the past.
package asof

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"linkledger/projections/readmodel"
)

// Time is when a question looks at the links. The zero value is now.
type Time struct {
	past bool  // or else now
	at   int64 // as in the tables of the history
}

// Now has a question look at the links as they are.
var Now = Time{}

// At returns the time of a moment; the zero moment is now.
func At(at time.Time) Time {
	switch {
	case at.IsZero():
		return Now
	case at.Before(time.Unix(0, 0)):
		return Time{true, -1} // before all
	case at.After(time.Unix(0, math.MaxInt64-1)):
		return Time{true, math.MaxInt64 - 1}
	}
	return Time{true, at.UnixNano()}
}

// Past tells whether the time is a past moment.
func (t Time) Past() bool { return t.past }

// Nanoseconds is a past moment as the tables of the history have it.
func (t Time) Nanoseconds() int64 { return t.at }

// Moment is that of a past moment.
func (t Time) Moment() time.Time { return time.Unix(0, t.at).UTC() }

// Day is the last one whose clicks count.
func (t Time) Day() time.Time { return t.Moment().Add(-time.Nanosecond).Truncate(24 * time.Hour) }

// validAt is the condition of what began by then and went on; now it is met by all that there is.
func (t Time) validAt() string {
	if !t.past {
		return "true"
	}
	return fmt.Sprintf("since <= %d AND until > %[1]d", t.at)
}

// Sets returns name, block and bits of the sets as they were, from the rows that meet a condition
// on names and blocks.
func (t Time) Sets(condition string) string {
	if !t.past {
		return "linkledger.link_sets WHERE " + condition
	}
	return fmt.Sprintf(`(
		SELECT account_id, name, block, max(since) AS since FROM linkledger.set_pages
		WHERE %[2]s AND since <= %[1]d GROUP BY account_id, name, block) AS latest
		CROSS JOIN LATERAL (
			SELECT CASE WHEN last <= %[1]d THEN bits ELSE bits # (
				SELECT bit_xor(set_bit(repeat('0', 2048)::bit(2048), c.number, 1))
				FROM unnest(numbers, moments) AS c (number, moment) WHERE c.moment > %[1]d) END AS bits
			FROM linkledger.set_pages AS page
			WHERE page.account_id = latest.account_id AND page.name = latest.name AND page.block = latest.block
				AND page.since = latest.since LIMIT 1) AS page`, t.at, condition)
}

// Links returns the table of the links as they were, also of deleted ones.
func (t Time) Links() string {
	if !t.past {
		return "linkledger.links"
	}
	return "(SELECT * FROM linkledger.link_versions WHERE " + t.validAt() + ")"
}

// SearchTexts returns the table of what a search looks at, for one that looks at all of an account or at
// some. Of links that do not live it may have something too: the last face of one that lives lasts
// since it began.
func (t Time) SearchTexts(all bool) string {
	if !t.past {
		return "linkledger.link_texts AS link"
	}
	condition := t.validAt()
	// which keeps the index of their times out: its pages would be read as a whole for a few rows
	if !all {
		condition = fmt.Sprintf("since + 0 <= %d AND until + 0 > %[1]d", t.at)
	}
	return fmt.Sprintf(`(
		SELECT account_id, number, text FROM linkledger.link_faces WHERE since <= %d UNION ALL
		SELECT account_id, number, text FROM linkledger.former_faces WHERE %s) AS link`, t.at,
		condition)
}

// ByHash returns the questions for the live links by their hashes, of which each link answers
// one.
func (t Time) ByHash(db *readmodel.DB) []*bun.SelectQuery {
	if !t.past {
		return []*bun.SelectQuery{live(db)}
	}
	return []*bun.SelectQuery{
		db.NewSelect().TableExpr("linkledger.link_faces AS link").Where(t.validAt()),
		db.NewSelect().TableExpr("linkledger.former_faces AS link").Where(t.validAt()),
	}
}

// ByModified returns the question for the live links by their modifications.
func (t Time) ByModified(
	ctx context.Context, db *readmodel.DB, account uuid.UUID,
) (*bun.SelectQuery, error) {
	if !t.past {
		return live(db), nil
	}
	var lead time.Duration
	if err := db.NewRaw(
		"SELECT coalesce(max(lead), 0) FROM linkledger.account_clocks WHERE account_id = ?",
		account,
	).
		Scan(ctx, &lead); err != nil {
		return nil, err
	}
	// What was modified later is not looked at. A second more, because times are cut to
	// microseconds.
	return db.NewSelect().TableExpr("linkledger.link_versions AS link").Where(
		"link.deleted_at IS NULL",
	).Where(t.validAt()).
		Where("link.modified_at <= ?", t.Moment().Add(lead+time.Second)), nil
}

// UnionAll returns one question for several, which all ask for the number of a link.
func UnionAll(db *readmodel.DB, queries []*bun.SelectQuery) *bun.SelectQuery {
	if len(queries) == 1 {
		return queries[0]
	}
	return db.NewSelect().ColumnExpr("link.number").TableExpr(
		"((?) UNION ALL (?)) AS link", queries[0], queries[1],
	)
}

// live returns the question for the links that live now.
func live(db *readmodel.DB) *bun.SelectQuery {
	return db.NewSelect().TableExpr("linkledger.links AS link").Where("link.deleted_at IS NULL")
}
