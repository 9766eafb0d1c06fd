package links

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/projections/clickcount"
	"linkledger/projections/linkrow"
	"linkledger/projections/links/counters"
	"linkledger/projections/notes"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
	"linkledger/robots"
)

// Name is the name of the projection.
const Name = "links"

// maxClickDelay is how long clicks may wait to be counted under heavy load. The longer they wait,
// the more clicks of a batch add to the same rows.
const maxClickDelay = 2 * time.Second

// Projection returns the projection of the links and their clicks.
func Projection() projection.Definition {
	return projection.Definition{
		Name: Name,
		Filter: projection.Streams(
			events.StreamURL, events.StreamHash, events.StreamClicks, events.StreamAccount,
		),
		Folds: newLinkFolds, Judges: true, Alone: notes.IsErasure, Outlasts: outlasts,
		Buffered: true, Delayable: isClicks, MaxDelay: maxClickDelay,
	}
}

// outlasts reports whether an event is applied although earlier events of its stream are set aside.
// It is true for an erasure, and for the deletion of a link with a valid account and time.
func outlasts(e events.Event) bool {
	if deleted, ok := e.(events.URLDeleted); ok {
		_, err := projection.ParseID(deleted.Account)
		return err == nil && projection.CheckTime(deleted.At) == nil
	}
	return events.IsErasure(e)
}

// linkFold updates the links and their clicks. It holds the links that a batch of events changes,
// as they are after the events applied so far.
type linkFold struct {
	loader *linkLoader // nil: the tables are not filled in bulk
	rows   map[uuid.UUID]*readmodel.Link
	// found lists the links that existed before the batch. before has copies of their rows as they
	// were then. A bulk load does not use before.
	found     []*readmodel.Link
	before    []readmodel.Link
	created   []*readmodel.Link // by the batch, in the order of the events
	recounted []*readmodel.Link // links whose clicks a reset or an undone reset changed
	accounts  accountCountsFold
	counts    clickcount.Fold
	batches   map[linkBatch]struct{}
}

// linkFolds makes the folds of a generation.
type linkFolds struct {
	keys      *notes.Keys
	judgement *robots.Judgement // of clicks
}

func newLinkFolds(given projection.Given) projection.Folds {
	return linkFolds{&notes.Keys{Master: given.Master}, given.Judgement}
}

func (l linkFolds) Next() projection.Fold {
	return notes.NewFold(newLinkFold(nil, l.judgement), l.keys, linkNotes)
}

func (l linkFolds) Loader() projection.Loader { return newLinkLoader(l) }

func newLinkFold(loader *linkLoader, judgement *robots.Judgement) *linkFold {
	return &linkFold{
		loader: loader, rows: make(map[uuid.UUID]*readmodel.Link),
		accounts: make(accountCountsFold),
		batches:  make(map[linkBatch]struct{}),
		counts:   counters.New(judgement),
	}
}

// Read queues the query for the links that may exist. A link whose stream begins in the batch is
// new.
func (l *linkFold) Read(s *sqlbatch.Batch, batch []projection.Event) {
	known := make(map[string]struct{}) // by stream
	var ids sqlbatch.UUIDs
	for _, event := range batch {
		if _, ok := known[event.Stream]; ok {
			continue
		}
		known[event.Stream] = struct{}{}
		if event.Revision == 0 {
			continue
		}
		id, err := event.Link()
		if err != nil {
			continue // the event has clicks, or Apply returns the error
		}
		if _, ok := l.rows[id]; ok {
			continue // read for an earlier part of the batch
		}
		if l.loader != nil {
			if row, ok := l.loader.links.get(id); ok {
				copied := *row // the original may be on its way to PostgreSQL
				l.find(&copied)
				l.loader.size += linkSize(row)
				continue
			}
		}
		ids = append(ids, sqlbatch.UUID(id))
	}
	if len(ids) > 0 {
		s.Queue(selection, ids).Query(l.scan)
	}
	l.accounts.Read(s, batch, l.loader)
}

func (l *linkFold) scan(rows pgx.Rows) error {
	for rows.Next() {
		var row readmodel.Link
		if err := rows.Scan(columns.Scan(&row)...); err != nil {
			return err
		}
		l.find(&row)
		l.before = append(l.before, row)
	}
	return rows.Err()
}

func (l *linkFold) find(row *readmodel.Link) {
	l.rows[row.ID] = row
	l.found = append(l.found, row)
}

func (l *linkFold) Apply(event projection.Event) error {
	if clicks, ok := event.Body.(events.ClicksRecorded); ok {
		return l.counts.Add(clicks)
	}
	if err := l.applyLink(event); err != nil {
		return err
	}
	return l.counts.Apply(event)
}

func (l *linkFold) applyLink(event projection.Event) error {
	if event.IsClaim() {
		return nil
	}
	id, err := event.Link()
	if err != nil {
		if strings.HasPrefix(event.Stream, events.StreamAccount) {
			return nil // noteFold handles erasures, and no other event of accounts matters
		}
		return err
	}
	row := l.rows[id]
	if event.Detached && events.EndsLink(event.Body) && hasEnded(row, event) {
		return nil
	}
	if err := l.addBatch(id, event); err != nil {
		return err
	}
	after, err := linkrow.After(id, row, event)
	if err != nil {
		return err
	}
	number, err := l.accounts.count(event)
	if err != nil {
		return err
	}
	if row == nil {
		after.Number = number
		l.rows[id] = after
		l.created = append(l.created, after)
	}
	switch event.Body.(type) {
	case events.URLStatsReset, events.URLStatsRestored:
		l.recounted = append(l.recounted, after)
	}
	return nil
}

// hasEnded reports whether a deletion that is applied out of order has nothing left to end. If it
// is applied while its stream is set aside, the link may be unknown, or deleted already. If it is
// tried again later, it may have been applied while its stream was set aside.
func hasEnded(row *readmodel.Link, deletion projection.Event) bool {
	if deletion.AtOnce {
		return row == nil || !row.DeletedAt.IsZero()
	}
	return row != nil && !row.DeletedAt.IsZero() && row.Revision == int64(deletion.Revision)
}

// destination holds what a redirect needs of a link, except its number of clicks.
type destination struct {
	hash, longURL string
	expires       *time.Time
	maxClicks     int64
	deleted       time.Time
}

func destinationOf(row *readmodel.Link) destination {
	return destination{row.Hash, row.LongURL, row.ExpirationDate, row.MaxClicks, row.DeletedAt}
}

// minCopied is the number of new links from which COPY is faster than INSERT.
const minCopied = 32

// usesCopy reports whether the rows of new links are written with COPY.
func (l *linkFold) usesCopy() bool { return l.loader != nil || len(l.created) >= minCopied }

func (l *linkFold) Size() int { return len(l.rows) + l.counts.Size() }

func (l *linkFold) Write(s *sqlbatch.Batch) []string {
	if l.loader != nil {
		l.writeBulk(s)
		return nil
	}
	if l.usesCopy() {
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

// writeBulk writes less than Write: readmodel.Complete fills in the rest.
func (l *linkFold) writeBulk(s *sqlbatch.Batch) {
	copyLinks(s, l.created)
	if len(l.found) > 0 {
		s.Stage(
			"links", columns.Names(), len(l.found),
			func(r *sqlbatch.Row, i int) { columns.Copy(r, l.found[i]) },
		)
		s.Queue(
			`UPDATE ?schema.links AS link SET ` + linkrow.Mutable.Assign("folded") +
				` FROM pg_temp.staged_links AS folded WHERE link.id = folded.id`,
		)
	}
	for _, row := range l.rows {
		l.loader.links.put(row.ID, row)
	}
	// readmodel.Complete writes only the texts in ASCII, because readmodel.SearchText folds the
	// others in ways that PostgreSQL does not know.
	writeTexts(s, slices.DeleteFunc(slices.Concat(l.found, l.created), isASCIIText))
	l.writeRest(s)
}

func (l *linkFold) writeRest(s *sqlbatch.Batch) {
	l.accounts.Write(s, l.loader)
	l.writeBatches(s)
	l.counts.Write(s)
}

// changed returns the hashes that redirects must look up again. If there are none, but links that
// existed before the batch were read, it returns readmodel.Uncached.
func (l *linkFold) changed() []string {
	var hashes []string
	for i, row := range l.found {
		if before, after := destinationOf(&l.before[i]), destinationOf(row); after != before {
			hashes = append(hashes, after.hash)
			if before.hash != after.hash {
				hashes = append(hashes, before.hash)
			}
		}
	}
	for _, row := range slices.Concat(l.created, l.recounted) {
		hashes = append(hashes, row.Hash)
	}
	if len(hashes) == 0 && len(l.found) > 0 {
		return []string{readmodel.Uncached}
	}
	return hashes
}

// isClicks reports whether an event changes only counters. Such events may wait to be batched.
// Readers see the counters change a little later, but a busy service has fewer transactions.
func isClicks(r eventstore.Recorded) bool {
	return strings.HasPrefix(r.Stream, events.StreamClicks)
}
