package links

import (
	"slices"

	"linkledger/projections/linkrow"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
	"linkledger/typed"
)

// setFold collects the links that enter and leave sets.
type setFold struct {
	account sqlbatch.UUIDs
	number  []int64
	name    []string
}

// toggle compares the row of a link before and after a batch, and adds the sets that the link
// enters or leaves. before is nil if the link is new.
func (s *setFold) toggle(before, after *readmodel.Link) {
	var sets []string
	if before != nil {
		sets = linkrow.SetsOf(before)
	}
	for _, name := range linkrow.Toggled(sets, linkrow.SetsOf(after)) {
		s.account = append(s.account, sqlbatch.UUID(after.AccountID))
		s.number = append(s.number, int64(after.Number))
		s.name = append(s.name, name)
	}
}

// writeSets queues one statement that changes sets and inserts the counters of new links. A new
// link has counters already if its creation was set aside while its clicks were counted. Such a
// link keeps these counters, and enters the sets that follow from them. It is one statement because
// these sets depend on the counters. After a bulk load, readmodel.Complete fills in the sets and
// the counters.
func (l *linkFold) writeSets(to *sqlbatch.Batch) {
	var s setFold
	for i, row := range l.found {
		s.toggle(&l.before[i], row)
	}
	for _, row := range l.created {
		s.toggle(nil, row)
	}
	if len(s.name) == 0 {
		return
	}
	created := slices.Concat(linkrow.ID, linkrow.Owner).Arrays(l.created)
	to.Queue(`
		WITH counters AS (
			INSERT INTO ?schema.link_stats AS s
				(url_id, account_id, number, total_clicks, unique_clicks, visited)
			SELECT id, account_id, number, 0, 0, false
			FROM unnest($1::uuid[], $2::uuid[], $3::integer[]) AS new (id, account_id, number)
			ON CONFLICT (url_id) DO UPDATE SET
				account_id = EXCLUDED.account_id, number = EXCLUDED.number
			RETURNING account_id, number, total_clicks, visited),
		toggled AS (
			SELECT * FROM unnest($4::uuid[], $5::integer[], $6::text[])
				AS folded (account_id, number, name)
			UNION ALL SELECT account_id, number, 'visited' FROM counters WHERE visited
			UNION ALL SELECT account_id, number, 'clicked' FROM counters WHERE total_clicks > 0)`+
		linkrow.ToggleSets,
		append(created, s.account, s.number, s.name)...)
}

// writeTexts queues the changes of search texts. It removes the texts of deleted links.
func writeTexts(s *sqlbatch.Batch, rows []*readmodel.Link) {
	var texts [][]byte
	var live, deleted struct {
		account sqlbatch.UUIDs
		number  []int64
	}
	for _, row := range rows {
		to := &live
		if row.DeletedAt.IsZero() {
			texts = append(texts, []byte(readmodel.SearchText(row.LongURL, row.Note, row.Hash)))
		} else {
			to = &deleted
		}
		to.account = append(to.account, sqlbatch.UUID(row.AccountID))
		to.number = append(to.number, int64(row.Number))
	}
	if len(deleted.number) > 0 {
		s.Queue(`
			DELETE FROM ?schema.link_texts AS t
			USING unnest($1::uuid[], $2::integer[]) AS gone (account_id, number)
			WHERE t.account_id = gone.account_id AND t.number = gone.number`,
			deleted.account, deleted.number)
	}
	if len(texts) > 0 {
		s.Queue(`INSERT INTO ?schema.link_texts AS t (account_id, number, text)
			SELECT * FROM unnest($1::uuid[], $2::integer[], $3::bytea[])
			ON CONFLICT (account_id, number) DO UPDATE SET text = EXCLUDED.text
				WHERE t.text <> EXCLUDED.text`,
			live.account, live.number, texts)
	}
}

// copyTexts queues a COPY of the search texts of new links.
func copyTexts(s *sqlbatch.Batch, created []*readmodel.Link) {
	live := slices.DeleteFunc(
		slices.Clone(created), func(row *readmodel.Link) bool { return !row.DeletedAt.IsZero() },
	)
	columns := []string{"account_id", "number", "text"}
	s.Copy("link_texts", columns, len(live), func(r *sqlbatch.Row, i int) {
		row := live[i]
		r.UUID(row.AccountID)
		r.Integer(row.Number)
		r.Text(readmodel.SearchText(row.LongURL, row.Note, row.Hash))
	})
}

func isASCIIText(row *readmodel.Link) bool {
	return typed.IsASCII(row.LongURL) && typed.IsASCII(row.Note) && typed.IsASCII(row.Hash)
}
