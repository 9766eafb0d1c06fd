package queries

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"linkledger/projections/readmodel"
)

// ErrNoPast means that the read models do not know the answer for a past moment.
var ErrNoPast = errors.New("of a past moment links are neither ordered nor chosen by their clicks")

// moment is when a question looks at the links.
type moment struct {
	past bool  // or else now
	at   int64 // as in the tables of the history
}

var now = moment{}

// momentOf returns the moment of a time; the zero time is now.
func momentOf(at time.Time) moment {
	switch {
	case at.IsZero():
		return now
	case at.Before(time.Unix(0, 0)):
		return moment{true, -1} // before all
	case at.After(time.Unix(0, math.MaxInt64-1)):
		return moment{true, math.MaxInt64 - 1}
	}
	return moment{true, at.UnixNano()}
}

// time is that of a past moment.
func (m moment) time() time.Time { return time.Unix(0, m.at).UTC() }

// day is the last one whose clicks count.
func (m moment) day() time.Time { return m.time().Add(-time.Nanosecond).Truncate(24 * time.Hour) }

// lasting is the condition of what began by then and went on; now it is met by all that there is.
func (m moment) lasting() string {
	if !m.past {
		return "true"
	}
	return fmt.Sprintf("since <= %d AND until > %[1]d", m.at)
}

// sets returns name, block and bits of the sets as they were, from the rows that meet a condition on names and blocks.
func (m moment) sets(condition string) string {
	if !m.past {
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
				AND page.since = latest.since LIMIT 1) AS page`, m.at, condition)
}

// links returns the table of the links as they were, also of deleted ones.
func (m moment) links() string {
	if !m.past {
		return "linkledger.links"
	}
	return "(SELECT * FROM linkledger.link_versions WHERE " + m.lasting() + ")"
}

// texts returns the table of what a search looks at, for one that looks at all of an account or at some. Of links that do not
// live it may have something too: the last face of one that lives lasts since it began.
func (m moment) texts(all bool) string {
	if !m.past {
		return "linkledger.link_texts AS link"
	}
	before := m.lasting()
	if !all { // which keeps the index of their times out: its pages would be read as a whole for a few rows
		before = fmt.Sprintf("since + 0 <= %d AND until + 0 > %[1]d", m.at)
	}
	return fmt.Sprintf(`(
		SELECT account_id, number, text FROM linkledger.link_faces WHERE since <= %d UNION ALL
		SELECT account_id, number, text FROM linkledger.former_faces WHERE %s) AS link`, m.at, before)
}

// standing returns the questions for the live links by their hashes, of which each link answers one.
func (q *DB) standing(at moment) []*bun.SelectQuery {
	if !at.past {
		return []*bun.SelectQuery{q.live()}
	}
	return []*bun.SelectQuery{
		q.db.NewSelect().TableExpr("linkledger.link_faces AS link").Where(at.lasting()),
		q.db.NewSelect().TableExpr("linkledger.former_faces AS link").Where(at.lasting()),
	}
}

// joined returns one question for several, which all ask for the number of a link.
func (q *DB) joined(questions []*bun.SelectQuery) *bun.SelectQuery {
	if len(questions) == 1 {
		return questions[0]
	}
	return q.db.NewSelect().ColumnExpr("link.number").TableExpr("((?) UNION ALL (?)) AS link", questions[0], questions[1])
}

// live returns the question for the links that live now.
func (q *DB) live() *bun.SelectQuery {
	return q.db.NewSelect().TableExpr("linkledger.links AS link").Where("link.deleted_at IS NULL")
}

// modified returns the question for the live links by their modifications.
func (q *DB) modified(ctx context.Context, account uuid.UUID, at moment) (*bun.SelectQuery, error) {
	if !at.past {
		return q.live(), nil
	}
	var lead time.Duration
	if err := q.db.NewRaw("SELECT coalesce(max(lead), 0) FROM linkledger.account_clocks WHERE account_id = ?", account).
		Scan(ctx, &lead); err != nil {
		return nil, err
	}
	// What was modified later is not looked at. A second more, because times are cut to microseconds.
	return q.db.NewSelect().TableExpr("linkledger.link_versions AS link").Where("link.deleted_at IS NULL").Where(at.lasting()).
		Where("link.modified_at <= ?", at.time().Add(lead+time.Second)), nil
}

// tagsAt returns the tags of an account, in no order where they are of a past moment.
func (q *DB) tagsAt(ctx context.Context, account uuid.UUID, at moment) ([]Tag, error) {
	if !at.past {
		return q.Tags(ctx, account)
	}
	var tags []Tag
	err := q.db.NewRaw(`SELECT id, label FROM (
			SELECT DISTINCT ON (tag_id) tag_id AS id, label FROM linkledger.tag_versions
			WHERE account_id = ? AND since <= ? ORDER BY tag_id, since DESC) AS tag
		WHERE label IS NOT NULL`, account, at.at).Scan(ctx, &tags)
	if err != nil {
		return nil, failed("tags", err)
	}
	return tags, nil
}

// LinkAt returns the link of the account that lived under the hash at a past moment, as it was; else ErrNotFound.
func (q *DB) LinkAt(ctx context.Context, account uuid.UUID, hash string, at time.Time) (Link, error) {
	if !storable(hash) {
		return Link{}, failed("link at", ErrNotFound)
	}
	then := momentOf(at)
	numbers, err := q.under(ctx, account, []string{hash}, then)
	if err != nil {
		return Link{}, failed("link at", err)
	}
	links, err := q.numberedThen(ctx, account, numbers, then)
	if err == nil && len(links) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return Link{}, failed("link at", err)
	}
	return links[0], nil
}

// numberedThen returns the links of those numbers that lived at a past moment, in the order of the numbers. Clicks are
// those of whole days, up to the end of the moment's day. Resets count from their moment on; one that was undone since is as
// if it had never been.
func (q *DB) numberedThen(ctx context.Context, account uuid.UUID, numbers []int, at moment) ([]Link, error) {
	links := []Link{}
	err := q.db.NewRaw(`
		SELECT link.id, link.account_id, link.hash, link.long_url, link.note, link.email_stats, link.ping, link.protected,
			link.archived, coalesce(to_char(link.expiration_date, 'YYYY-MM-DD'), '') AS expiration_date, link.max_clicks,
			ARRAY(
				SELECT tag.label FROM unnest(link.tag_ids) WITH ORDINALITY AS attached (id, place), LATERAL (
					SELECT label FROM linkledger.tag_versions
					WHERE tag_id = attached.id AND since <= ?at AND account_id = link.account_id ORDER BY since DESC LIMIT 1) AS tag
				WHERE tag.label IS NOT NULL ORDER BY attached.place) AS tags,
			clicks.total AS total_clicks,
			CASE WHEN clicks.reset THEN (
				SELECT count(DISTINCT visitor) FROM (
					SELECT visitor FROM linkledger.visitors WHERE url_id = link.id AND day <= ?day UNION ALL
					SELECT visitor FROM linkledger.reset_visitors
					WHERE url_id = link.id AND reset > link.revision AND day <= ?day) AS seen)
				ELSE clicks.uniques END AS unique_clicks,
			CASE WHEN stats.last_visit < ?day::timestamptz + interval '1 day' THEN stats.last_visit
				ELSE clicks.last_day AT TIME ZONE 'UTC' END AS last_visit,
			clicks.last_day IS NOT NULL AS visited, link.created_at, link.modified_at, link.revision
		FROM unnest(?numbers::integer[]) WITH ORDINALITY AS cut (number, place)
		CROSS JOIN LATERAL (
			SELECT * FROM linkledger.link_versions
			WHERE account_id = ?account AND number = cut.number AND since <= ?at ORDER BY since DESC LIMIT 1) AS link
		CROSS JOIN LATERAL (
			SELECT coalesce(sum(total) FILTER (WHERE counts), 0) AS total, coalesce(sum(uniques), 0) AS uniques,
				coalesce(bool_or(reset AND counts), false) AS reset, max(day)::timestamp AS last_day
			FROM (
				SELECT day, total_clicks AS total, unique_clicks AS uniques, false AS reset, true AS counts
				FROM linkledger.link_days WHERE url_id = link.id AND day <= ?day UNION ALL
				SELECT day, total_clicks, 0, true, reset > link.revision
				FROM linkledger.reset_days WHERE url_id = link.id AND day <= ?day) AS days) AS clicks
		LEFT JOIN linkledger.link_stats AS stats ON stats.url_id = link.id
		WHERE link.deleted_at IS NULL ORDER BY cut.place`, struct {
		Account uuid.UUID
		Numbers *pgdialect.ArrayValue
		At      int64
		Day     string
	}{account, pgdialect.Array(numbers), at.at, at.day().Format(time.DateOnly)}).Scan(ctx, &links)
	return links, err
}

// AccountAt returns the account as it was at a past moment, without its key, and the counters that it had, in the month of
// that moment; else ErrNotFound.
func (q *DB) AccountAt(ctx context.Context, id uuid.UUID, at time.Time) (Account, Counters, error) {
	then := momentOf(at)
	account := Account{ID: id}
	err := q.db.NewRaw(`SELECT username, plan, active, coalesce(to_char(expiration_date, 'YYYY-MM-DD'), '') AS expiration_date
		FROM linkledger.account_versions WHERE account_id = ? AND since <= ? ORDER BY since DESC LIMIT 1`, id, then.at).
		Scan(ctx, &account.Username, &account.Plan, &account.Active, &account.ExpirationDate)
	if err != nil {
		return Account{}, Counters{}, failed("account at", err)
	}
	live := &tagged{q: q, account: id, sql: setsSQL(then, "bit_or(bits)", "name = 'live'"), args: []any{id}}
	month := readmodel.BeforeDays + then.time().Format("2006-01")
	created := &tagged{
		q: q, account: id, sql: setsSQL(then, "bit_or(bits)", "name > ? AND name < ?"), args: []any{id, month, month + "~"},
	}
	var counters Counters
	for _, counted := range []struct {
		set  *tagged
		into *int64
	}{{live, &counters.URLs}, {created, &counters.MonthURLs}} {
		set, err := counted.set.all(ctx)
		if err != nil {
			return Account{}, Counters{}, failed("account at", err)
		}
		*counted.into = int64(set.count())
	}
	return account, counters, nil
}
