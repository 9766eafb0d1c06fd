package links

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/projections/clickcount"
	"linkledger/projections/linkrow"
	"linkledger/projections/links/counters"
	"linkledger/projections/notes"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// Name is the name of the projection.
const Name = "links"

// clickPatience is how long clicks wait to be counted when there are very many: then they meet in
// fewer rows.
const clickPatience = 2 * time.Second

// Projection returns the projection of the links and their clicks.
func Projection() projection.Definition {
	return projection.Definition{
		Name:   Name,
		Filter: projection.Streams(events.StreamURL, events.StreamClicks, events.StreamAccount),
		Folds:  newLinkFolds, Alone: notes.IsErasure, Held: true, Patient: isClicks,
		MaxPatience: clickPatience,
	}
}

// linkFold brings links and their clicks up to date. It holds the links that a batch touches, as
// they are after the facts so far.
type linkFold struct {
	loader  *linkLoader // nil: the tables are not filled in bulk
	rows    map[uuid.UUID]*readmodel.Link
	found   []*readmodel.Link // those that were there before
	were    []readmodel.Link  // what the found ones were before the facts; a build does not know
	created []*readmodel.Link // by the facts, in their order
	counted []*readmodel.Link // those whose clicks became others, otherwise than by clicks
	tallies tallyFold
	counts  clickcount.Fold
	batches map[linkBatch]struct{} // by which the links were changed
}

// linkFolds makes the folds of a generation.
type linkFolds struct {
	keys *notes.Keys
}

func newLinkFolds(master *readmodel.MasterKey) projection.Folds {
	return linkFolds{&notes.Keys{Master: master}}
}

func (l linkFolds) Next() projection.Fold {
	return notes.Opening(newLinkFold(nil), l.keys, linkNotes)
}

func (l linkFolds) Loader() projection.Loader { return newLinkLoader(l.keys) }

func newLinkFold(loader *linkLoader) *linkFold {
	return &linkFold{
		loader: loader, rows: make(map[uuid.UUID]*readmodel.Link), tallies: make(tallyFold),
		batches: make(map[linkBatch]struct{}),
		counts:  counters.New(),
	}
}

// Read asks for the links that may exist: one whose stream begins in the batch is new.
func (l *linkFold) Read(s *sqlbatch.Batch, facts []projection.Event) {
	known := make(map[string]struct{}) // by stream
	var ids sqlbatch.UUIDs
	for _, f := range facts {
		if _, ok := known[f.Stream]; ok {
			continue
		}
		known[f.Stream] = struct{}{}
		if f.Revision == 0 {
			continue
		}
		id, err := f.Subject(events.StreamURL)
		if err != nil {
			continue // clicks, or step names the fact
		}
		if _, ok := l.rows[id]; ok {
			continue // gathered before
		}
		if l.loader != nil {
			if row, ok := l.loader.links.get(id); ok {
				copied := *row // PostgreSQL may be taking in the other
				l.find(&copied)
				l.loader.size += weighLink(row)
				continue
			}
		}
		ids = append(ids, sqlbatch.UUID(id))
	}
	if len(ids) > 0 {
		s.Queue(`SELECT id, account_id, number, hash, long_url, note, email_stats, ping, protected, archived, expiration_date,
			max_clicks, tag_ids, created_at, modified_at, position, revision, deleted_at
			FROM ?schema.links WHERE id = ANY($1::uuid[])`, ids).Query(l.scan)
	}
	l.tallies.Read(s, facts, l.loader)
}

func (l *linkFold) scan(rows pgx.Rows) error {
	for rows.Next() {
		var row readmodel.Link
		var deleted pgtype.Timestamptz
		if err := rows.Scan(&row.ID, &row.AccountID, &row.Number, &row.Hash, &row.LongURL, &row.Note, &row.EmailStats, &row.Ping,
			&row.Protected, &row.Archived, &row.ExpirationDate, &row.MaxClicks, &row.TagIDs,
			&row.CreatedAt, &row.ModifiedAt,
			&row.Position, &row.Revision, &deleted); err != nil {
			return err
		}
		row.DeletedAt = deleted.Time
		l.find(&row)
		l.were = append(l.were, row)
	}
	return rows.Err()
}

func (l *linkFold) find(row *readmodel.Link) {
	l.rows[row.ID] = row
	l.found = append(l.found, row)
}

func (l *linkFold) Apply(f projection.Event) error {
	if clicks, ok := f.Body.(events.ClicksRecorded); ok {
		return l.counts.Add(clicks)
	}
	if err := l.stepLink(f); err != nil {
		return err
	}
	return l.counts.Apply(f)
}

func (l *linkFold) stepLink(f projection.Event) error {
	id, err := f.Subject(events.StreamURL)
	if err != nil {
		if strings.HasPrefix(f.Stream, events.StreamAccount) {
			return nil // openingFold sees to what matters here
		}
		return err
	}
	switch f.Body.(type) {
	case events.ClaimAbandoned, events.CreationAbandoned:
		return nil // about a claim that this link never used; there may be no link at all
	}
	if err := l.noteBatch(id, f); err != nil {
		return err
	}
	row := l.rows[id]
	after, err := linkrow.After(id, row, f)
	if err != nil {
		return err
	}
	number, err := l.tallies.count(f)
	if err != nil {
		return err
	}
	if row == nil {
		after.Number = number
		l.rows[id] = after
		l.created = append(l.created, after)
	}
	switch f.Body.(type) {
	case events.URLStatsReset, events.URLStatsRestored:
		l.counted = append(l.counted, after)
	}
	return nil
}

// destination is what a redirect knows of a link, beside how many clicks it has.
type destination struct {
	hash, longURL string
	expires       *time.Time
	maxClicks     int64
	deleted       time.Time
}

func destinationOf(row *readmodel.Link) destination {
	return destination{row.Hash, row.LongURL, row.ExpirationDate, row.MaxClicks, row.DeletedAt}
}

// manyCreated is from how many new links on it takes less to copy their rows than to insert them.
const manyCreated = 32

// copies tells whether the rows of new links are copied.
func (l *linkFold) copies() bool { return l.loader != nil || len(l.created) >= manyCreated }

func (l *linkFold) Size() int { return len(l.rows) + l.counts.Size() }

func (l *linkFold) Write(s *sqlbatch.Batch) []string {
	if l.loader != nil {
		l.writeBulk(s)
		return nil
	}
	if l.copies() {
		copyLinks(s, l.created)
		copyTexts(s, l.created)
	} else {
		insertLinks(s, l.created)
		writeTexts(s, l.created)
	}
	updateLinks(s, l.found)
	writeTexts(s, l.found)
	l.writeSets(s)
	l.writeRest(s)
	return l.changed()
}

// writeBulk leaves out what readmodel.Complete makes.
func (l *linkFold) writeBulk(s *sqlbatch.Batch) {
	copyLinks(s, l.created)
	if len(l.found) > 0 {
		s.Stage(
			"links", linkColumns, len(l.found),
			func(r *sqlbatch.Row, i int) { copyLink(r, l.found[i]) },
		)
		s.Queue(
			`UPDATE ?schema.links AS link SET ` + foldedColumns +
				` FROM pg_temp.staged_links AS folded WHERE link.id = folded.id`,
		)
	}
	for _, row := range l.rows {
		l.loader.links.put(row.ID, row)
	}
	// The texts that PostgreSQL may write in lower case otherwise than readmodel.SearchText does.
	writeTexts(s, slices.DeleteFunc(slices.Concat(l.found, l.created), isASCIIText))
	l.writeRest(s)
}

func (l *linkFold) writeRest(s *sqlbatch.Batch) {
	l.tallies.Write(s, l.loader)
	l.writeBatches(s)
	l.counts.Write(s)
}

// changed returns the hashes that redirects have to look up again.
func (l *linkFold) changed() []string {
	var hashes []string
	for i, row := range l.found {
		if before, after := destinationOf(&l.were[i]), destinationOf(row); after != before {
			hashes = append(hashes, after.hash)
			if before.hash != after.hash {
				hashes = append(hashes, before.hash)
			}
		}
	}
	for _, row := range slices.Concat(l.created, l.counted) {
		hashes = append(hashes, row.Hash)
	}
	if len(hashes) == 0 && len(l.found) > 0 {
		return []string{readmodel.Unkept}
	}
	return hashes
}

// isClicks tells of events that change counters only. Readers of counters see them a little later,
// and a busy service has fewer transactions.
func isClicks(
	r eventstore.Recorded,
) bool {
	return strings.HasPrefix(r.Stream, events.StreamClicks)
}
