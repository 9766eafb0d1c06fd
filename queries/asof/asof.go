// Package asof selects the tables and rows of the read models that show the links as of a time:
// now, or a past moment.
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

// Time is the time at which a query sees the links. The zero value is now.
type Time struct {
	past bool  // false: now
	at   int64 // nanoseconds since 1970, as in the tables of the history
}

// Now is the time of queries that see the current links.
var Now = Time{}

// At returns the Time of a moment. The zero moment stands for now.
func At(at time.Time) Time {
	switch {
	case at.IsZero():
		return Now
	case at.Before(time.Unix(0, 0)):
		return Time{true, -1} // before all links
	case at.After(time.Unix(0, math.MaxInt64-1)):
		return Time{true, math.MaxInt64 - 1}
	}
	return Time{true, at.UnixNano()}
}

// Past reports whether the time is a past moment.
func (t Time) Past() bool { return t.past }

// Nanoseconds returns a past moment as the tables of the history have it. It returns 0 for now.
func (t Time) Nanoseconds() int64 { return t.at }

// Moment returns a past moment as a time.Time.
func (t Time) Moment() time.Time { return time.Unix(0, t.at).UTC() }

// Day returns the last day whose clicks count at a past moment: the day that ends at the moment or
// after it.
func (t Time) Day() time.Time { return t.Moment().Add(-time.Nanosecond).Truncate(24 * time.Hour) }

// validAt returns the condition for rows that were valid at the time. For now, it is always true.
func (t Time) validAt() string {
	if !t.past {
		return "true"
	}
	return fmt.Sprintf("since <= %d AND until > %[1]d", t.at)
}

// Sets returns the SQL, after FROM, that reads the name, block and bits of sets as they were at the
// time. The condition selects the sets by account, name and block.
//
// For a past moment, the SQL finds the latest page of each block that began at or before the
// moment. A page has its changes, and the bits after the last of them. If the last change is later
// than the moment, XOR undoes the changes after the moment. LATERAL with LIMIT 1 reads each page by
// its primary key.
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
				FROM unnest(numbers, moments) AS c (number, moment)
				WHERE c.moment > %[1]d) END AS bits
			FROM linkledger.set_pages AS page
			WHERE page.account_id = latest.account_id AND page.name = latest.name
				AND page.block = latest.block AND page.since = latest.since LIMIT 1) AS page`,
		t.at, condition)
}

// Links returns the table of the links as they were, including deleted ones.
func (t Time) Links() string {
	if !t.past {
		return "linkledger.links"
	}
	return "(SELECT * FROM linkledger.link_versions WHERE " + t.validAt() + ")"
}

// SearchTexts returns the table of the search texts of live links.
func (t Time) SearchTexts() string {
	if !t.past {
		return "linkledger.link_texts AS link"
	}
	return "(SELECT * FROM linkledger.text_versions WHERE " + t.validAt() + ") AS link"
}

// ByHash returns the query for live links by hash.
func (t Time) ByHash(db *readmodel.DB) *bun.SelectQuery {
	if !t.past {
		return live(db)
	}
	return db.NewSelect().TableExpr("linkledger.text_versions AS link").Where(t.validAt())
}

// ByModified returns the query for live links by time of modification.
func (t Time) ByModified(
	ctx context.Context, db *readmodel.DB, account uuid.UUID,
) (*bun.SelectQuery, error) {
	if !t.past {
		return live(db), nil
	}
	var lead time.Duration
	err := db.NewRaw(`SELECT coalesce(max(lead), 0)
		FROM linkledger.account_clocks WHERE account_id = ?`, account).Scan(ctx, &lead)
	if err != nil {
		return nil, err
	}
	// A version that was valid at the moment has a modification time of at most lead after the
	// moment. This bound lets the index skip later ones. It has a second more because times are cut
	// to microseconds.
	return db.NewSelect().TableExpr("linkledger.link_versions AS link").
		Where("link.deleted_at IS NULL").Where(t.validAt()).
		Where("link.modified_at <= ?", t.Moment().Add(lead+time.Second)), nil
}

// live returns the query for the links that are live now.
func live(db *readmodel.DB) *bun.SelectQuery {
	return db.NewSelect().TableExpr("linkledger.links AS link").Where("link.deleted_at IS NULL")
}
