package history

import (
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"linkledger/events"
	"linkledger/projections/linkrow"
	"linkledger/projections/notes"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// Name is the name of the projection.
const Name = "history"

// historyRest is the least time between two batches of a live projection: who asks for the past,
// and means just now, waits for it.
const historyRest = 100 * time.Millisecond

// Projection returns the projection of what links, tags and accounts were.
func Projection() projection.Definition {
	return projection.Definition{
		Name:   Name,
		Filter: projection.Streams(events.StreamURL, events.StreamTags, events.StreamAccount),
		Folds:  newHistoryFolds, Alone: notes.IsErasure, Rests: true, MinPatience: historyRest,
	}
}

// historyFold keeps what links, tags and accounts were, from which moment to which. It holds those
// that a batch touches, as they are after the facts so far, and their versions that are to be
// written.
type historyFold struct {
	clocks   map[uuid.UUID]*accountClock
	links    map[uuid.UUID]*linkPast
	accounts map[uuid.UUID]*accountPast
	tags     map[tagMoment]tagVersion
	sets     pageFold
}

// accountClock is where the history of an account stands.
type accountClock struct {
	moment int64 // of its last event
	lead   time.Duration
	links  int // number of the next one
}

// historyFolds makes the folds of a generation.
type historyFolds struct {
	keys *notes.Keys
}

func newHistoryFolds(master *readmodel.MasterKey) projection.Folds {
	return historyFolds{&notes.Keys{Master: master}}
}

func (h historyFolds) Next() projection.Fold {
	return notes.Opening(newHistoryFold(), h.keys, historyNotes)
}

func (h historyFolds) Loader() projection.Loader { return nil }

func newHistoryFold() projection.Fold {
	return &historyFold{
		clocks: make(map[uuid.UUID]*accountClock), links: make(map[uuid.UUID]*linkPast),
		accounts: make(map[uuid.UUID]*accountPast), tags: make(map[tagMoment]tagVersion),
		sets: make(pageFold),
	}
}

// Read asks for the links, accounts and clocks that the facts touch. Facts that name none are named
// by step.
func (h *historyFold) Read(s *sqlbatch.Batch, facts []projection.Event) {
	touched := make(map[uuid.UUID]struct{}) // accounts
	var links, versions sqlbatch.UUIDs
	known := make(map[string]struct{}) // by stream
	for _, f := range facts {
		if created, ok := f.Body.(events.URLCreated); ok {
			if id, err := projection.ParseID(created.Account); err == nil {
				touched[id] = struct{}{}
			}
		}
		if _, ok := known[f.Stream]; ok {
			continue
		}
		known[f.Stream] = struct{}{}
		if id, err := f.Subject(events.StreamURL); err == nil && f.Revision > 0 {
			links = append(links, sqlbatch.UUID(id))
		} else if id, err := f.Subject(events.StreamTags); err == nil {
			touched[id] = struct{}{}
		} else if id, err := f.Subject(events.StreamAccount); err == nil {
			touched[id] = struct{}{}
			versions = append(versions, sqlbatch.UUID(id))
		}
	}
	var accounts sqlbatch.UUIDs
	for id := range touched {
		accounts = append(accounts, sqlbatch.UUID(id))
	}
	s.Queue(`SELECT account_id, moment, lead, links FROM ?schema.account_clocks WHERE account_id IN (
		SELECT unnest($1::uuid[]) UNION SELECT account_id FROM ?schema.link_faces WHERE link_id = ANY($2::uuid[]))`,
		accounts, links).Query(h.scanClocks)
	readLinkPasts(s, links, h.links)
	readAccountPasts(s, versions, h.accounts)
}

func (h *historyFold) scanClocks(rows pgx.Rows) error {
	for rows.Next() {
		var id uuid.UUID
		c := &accountClock{}
		if err := rows.Scan(&id, &c.moment, &c.lead, &c.links); err != nil {
			return err
		}
		h.clocks[id] = c
	}
	return rows.Err()
}

// clock returns the clock of an account, which has one from its first event on.
func (h *historyFold) clock(account uuid.UUID) *accountClock {
	if h.clocks[account] == nil {
		h.clocks[account] = &accountClock{}
	}
	return h.clocks[account]
}

// tick returns the moment from which a fact of an account counts.
func (h *historyFold) tick(account uuid.UUID, f projection.Event) int64 {
	c := h.clock(account)
	c.moment = max(c.moment, f.Time.UnixNano())
	return c.moment
}

func (h *historyFold) Apply(f projection.Event) error {
	switch {
	case strings.HasPrefix(f.Stream, events.StreamURL):
		return h.stepLink(f)
	case strings.HasPrefix(f.Stream, events.StreamTags):
		return h.stepTag(f)
	}
	return h.stepAccount(f)
}

func (h *historyFold) stepLink(f projection.Event) error {
	id, err := f.Subject(events.StreamURL)
	if err != nil {
		return err
	}
	switch f.Body.(type) {
	case events.ClaimAbandoned, events.CreationAbandoned:
		return nil // about a claim that this link never used
	}
	past := h.links[id]
	before := past.link()
	var sets []string
	if before != nil {
		sets = linkrow.SetsOf(before)
	}
	link, err := linkrow.After(id, before, f)
	if err != nil {
		return err
	}
	clock, at := h.clock(link.AccountID), h.tick(link.AccountID, f)
	if past == nil {
		link.Number = clock.links
		clock.links++
		past = &linkPast{created: true}
		h.links[id] = past
	}
	clock.lead = max(clock.lead, link.ModifiedAt.Sub(time.Unix(0, at)))
	for _, name := range linkrow.Toggled(sets, linkrow.SetsOf(link)) {
		h.sets.toggle(link, name, at)
	}
	past.become(*link, at, events.SealedNoteOf(f.Body) != nil)
	return nil
}

func (h *historyFold) Size() int { return len(h.links) + len(h.accounts) + len(h.tags) }

func (h *historyFold) Write(s *sqlbatch.Batch) []string {
	h.writeClocks(s)
	writeLinkPasts(s, h.links)
	h.sets.Write(s)
	writeTagVersions(s, h.tags)
	writeAccountPasts(s, h.accounts)
	return nil
}

func (h *historyFold) writeClocks(s *sqlbatch.Batch) {
	var account sqlbatch.UUIDs
	var moment, lead, links []int64
	for id, c := range h.clocks {
		account, moment = append(account, sqlbatch.UUID(id)), append(moment, c.moment)
		lead, links = append(lead, int64(c.lead)), append(links, int64(c.links))
	}
	if len(account) > 0 {
		s.Queue(`INSERT INTO ?schema.account_clocks (account_id, moment, lead, links)
			SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::integer[])
			ON CONFLICT (account_id) DO UPDATE SET moment = EXCLUDED.moment, lead = EXCLUDED.lead, links = EXCLUDED.links`,
			account, moment, lead, links)
	}
}
