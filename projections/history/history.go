package history

import (
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"linkledger/events"
	"linkledger/events/sealing"
	"linkledger/projections/linkrow"
	"linkledger/projections/notes"
	"linkledger/projections/projection"
	"linkledger/projections/sqlbatch"
)

// Name is the name of the projection.
const Name = "history"

// minDelay is the shortest time between two batches of a live projection. It is short because
// callers that ask for the most recent past wait for the next batch.
const minDelay = 100 * time.Millisecond

// Projection returns the projection of the versions of links, tags and accounts.
func Projection() projection.Definition {
	return projection.Definition{
		Name: Name,
		Filter: projection.Streams(
			events.StreamURL, events.StreamHash, events.StreamTags, events.StreamAccount,
		),
		Folds: newHistoryFolds, Alone: notes.IsErasure, Outlasts: events.IsErasure,
		NeverAwaited: true, MinDelay: minDelay,
	}
}

// historyFold updates the versions of links, tags and accounts. It holds the links, tags and
// accounts that a batch of events changes, as they are after the events applied so far, and the
// versions to write.
type historyFold struct {
	clocks   map[uuid.UUID]*accountClock
	links    map[uuid.UUID]*linkHistory
	accounts map[uuid.UUID]*accountHistory
	tags     map[tagVersionKey]tagVersion
	sets     pageFold
}

// accountClock is the time that the history of an account has reached. Its moments never go back,
// even if the clock of the event store does.
type accountClock struct {
	moment int64         // of the account's last event, in nanoseconds since 1970
	lead   time.Duration // the most by which a link's modification time was after its moment
	links  int           // number of the next link
}

// historyFolds makes the folds of a generation.
type historyFolds struct {
	keys *notes.Keys
}

func newHistoryFolds(given projection.Given) projection.Folds {
	return historyFolds{&notes.Keys{Master: given.Master}}
}

func (h historyFolds) Next() projection.Fold {
	return notes.NewFold(newHistoryFold(), h.keys, historyNotes)
}

func (h historyFolds) Loader() projection.Loader { return nil }

func newHistoryFold() projection.Fold {
	return &historyFold{
		clocks: make(map[uuid.UUID]*accountClock), links: make(map[uuid.UUID]*linkHistory),
		accounts: make(map[uuid.UUID]*accountHistory), tags: make(map[tagVersionKey]tagVersion),
		sets: make(pageFold),
	}
}

// Read queues the queries for the links, accounts and clocks that a batch touches. It ignores
// events without a valid id: Apply returns their error.
func (h *historyFold) Read(s *sqlbatch.Batch, batch []projection.Event) {
	touched := make(map[uuid.UUID]struct{}) // accounts
	var links, versions sqlbatch.UUIDs
	known := make(map[string]struct{}) // by stream
	for _, event := range batch {
		if created, ok := event.Body.(events.URLCreated); ok {
			if id, err := projection.ParseID(created.Account); err == nil {
				touched[id] = struct{}{}
			}
		}
		if _, ok := known[event.Stream]; ok {
			continue
		}
		known[event.Stream] = struct{}{}
		if id, err := event.Link(); err == nil && event.Revision > 0 {
			links = append(links, sqlbatch.UUID(id))
		} else if id, err := event.Subject(events.StreamTags); err == nil {
			touched[id] = struct{}{}
		} else if id, err := event.Subject(events.StreamAccount); err == nil {
			touched[id] = struct{}{}
			versions = append(versions, sqlbatch.UUID(id))
		}
	}
	var accounts sqlbatch.UUIDs
	for id := range touched {
		accounts = append(accounts, sqlbatch.UUID(id))
	}
	s.Queue(`
		SELECT account_id, moment, lead, links FROM ?schema.account_clocks WHERE account_id IN (
			SELECT unnest($1::uuid[])
			UNION SELECT account_id FROM ?schema.text_versions WHERE link_id = ANY($2::uuid[]))`,
		accounts, links).Query(h.scanClocks)
	readLinks(s, links, h.links)
	readAccounts(s, versions, h.accounts)
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

// clock returns the clock of an account, a new one if the account has none.
func (h *historyFold) clock(account uuid.UUID) *accountClock {
	if h.clocks[account] == nil {
		h.clocks[account] = &accountClock{}
	}
	return h.clocks[account]
}

// tick advances the clock of an account to an event, and returns the moment from which the event is
// valid.
func (h *historyFold) tick(account uuid.UUID, event projection.Event) int64 {
	c := h.clock(account)
	c.moment = max(c.moment, event.Time.UnixNano())
	return c.moment
}

func (h *historyFold) Apply(event projection.Event) error {
	switch {
	case strings.HasPrefix(event.Stream, events.StreamTags):
		return h.applyTag(event)
	case strings.HasPrefix(event.Stream, events.StreamAccount):
		return h.applyAccount(event)
	case event.IsClaim():
		return nil
	}
	return h.applyLink(event)
}

func (h *historyFold) applyLink(event projection.Event) error {
	id, err := event.Link()
	if err != nil {
		return err
	}
	past := h.links[id]
	before := past.link()
	var sets []string
	if before != nil {
		sets = linkrow.SetsOf(before)
	}
	link, err := linkrow.After(id, before, event)
	if err != nil {
		return err
	}
	clock, at := h.clock(link.AccountID), h.tick(link.AccountID, event)
	if past == nil {
		link.Number = clock.links
		clock.links++
		past = &linkHistory{created: true}
		h.links[id] = past
	}
	clock.lead = max(clock.lead, link.ModifiedAt.Sub(time.Unix(0, at)))
	for _, name := range linkrow.Toggled(sets, linkrow.SetsOf(link)) {
		h.sets.toggle(link, name, at)
	}
	past.update(*link, at, sealing.SealedOf(event.Body) != nil)
	return nil
}

func (h *historyFold) Size() int { return len(h.links) + len(h.accounts) + len(h.tags) }

func (h *historyFold) Write(s *sqlbatch.Batch) []string {
	h.writeClocks(s)
	writeLinks(s, h.links)
	h.sets.Write(s)
	writeTagVersions(s, h.tags)
	writeAccounts(s, h.accounts)
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
			ON CONFLICT (account_id) DO UPDATE SET
				moment = EXCLUDED.moment, lead = EXCLUDED.lead, links = EXCLUDED.links`,
			account, moment, lead, links)
	}
}
