package links

import (
	"slices"
	"unicode/utf8"

	"linkledger/projections/linkrow"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// setFold notes which links enter and leave which sets.
type setFold struct {
	account sqlbatch.UUIDs
	number  []int64
	name    []string
}

// change notes what happened to a link by what it was, nil if it is new, and what it is now.
func (s *setFold) change(was, is *readmodel.Link) {
	var before []string
	if was != nil {
		before = linkrow.SetsOf(was)
	}
	for _, name := range linkrow.Toggled(before, linkrow.SetsOf(is)) {
		s.account, s.number, s.name = append(
			s.account, sqlbatch.UUID(is.AccountID),
		), append(s.number, int64(is.Number)), append(s.name, name)
	}
}

// writeSets queues the sets, and the counters of links that are new. There are some already when a
// link was set aside while its clicks were counted; the link then takes them over. What is filled
// in bulk gets both from readmodel.Complete.
func (l *linkFold) writeSets(to *sqlbatch.Batch) {
	var s setFold
	for i, row := range l.found {
		s.change(&l.were[i], row)
	}
	for _, row := range l.created {
		s.change(nil, row)
	}
	if len(s.name) == 0 {
		return
	}
	c := linkrow.TableOf(l.created)
	to.Queue(`
		WITH counters AS (
			INSERT INTO ?schema.link_stats AS s (url_id, account_id, number, total_clicks, unique_clicks, visited)
			SELECT id, account_id, number, 0, 0, false FROM unnest($1::uuid[], $2::uuid[], $3::integer[]) AS new (id, account_id, number)
			ON CONFLICT (url_id) DO UPDATE SET account_id = EXCLUDED.account_id, number = EXCLUDED.number
			RETURNING account_id, number, total_clicks, visited),
		toggled AS (
			SELECT * FROM unnest($4::uuid[], $5::integer[], $6::text[]) AS folded (account_id, number, name)
			UNION ALL SELECT account_id, number, 'visited' FROM counters WHERE visited
			UNION ALL SELECT account_id, number, 'clicked' FROM counters WHERE total_clicks > 0)`+
		linkrow.ToggleSets,
		c.ID, c.Account, c.Number, s.account, s.number, s.name)
}

// writeTexts queues what a search looks at.
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
		to.account, to.number = append(
			to.account, sqlbatch.UUID(row.AccountID),
		), append(to.number, int64(row.Number))
	}
	if len(deleted.number) > 0 {
		s.Queue(`DELETE FROM ?schema.link_texts AS t USING unnest($1::uuid[], $2::integer[]) AS gone (account_id, number)
			WHERE t.account_id = gone.account_id AND t.number = gone.number`, deleted.account,
			deleted.number)
	}
	if len(texts) > 0 {
		s.Queue(`INSERT INTO ?schema.link_texts AS t (account_id, number, text)
			SELECT * FROM unnest($1::uuid[], $2::integer[], $3::bytea[])
			ON CONFLICT (account_id, number) DO UPDATE SET text = EXCLUDED.text WHERE t.text <> EXCLUDED.text`,
			live.account, live.number, texts)
	}
}

// copyTexts copies the same of new links.
func copyTexts(s *sqlbatch.Batch, created []*readmodel.Link) {
	live := slices.DeleteFunc(
		slices.Clone(created), func(row *readmodel.Link) bool { return !row.DeletedAt.IsZero() },
	)
	s.Copy("link_texts", []string{
		"account_id", "number", "text",
	}, len(live), func(r *sqlbatch.Row, i int) {
		row := live[i]
		r.UUID(row.AccountID)
		r.Integer(row.Number)
		r.Text(readmodel.SearchText(row.LongURL, row.Note, row.Hash))
	})
}

func isASCIIText(row *readmodel.Link) bool {
	return isASCII(row.LongURL) && isASCII(row.Note) && isASCII(row.Hash)
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
