package audit

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"

	"linkledger/commands/accounts"
	"linkledger/commands/domain"
	"linkledger/commands/hashes"
	"linkledger/commands/people"
	"linkledger/commands/streams"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventlog"
	"linkledger/events/sealing"
)

// Reader reads the history of links from the log. It is safe for concurrent use.
type Reader struct {
	streams *streams.Streams
	store   *eventstore.Store
	logger  *slog.Logger
}

// New returns a Reader. logger gets events that Replay skips.
func New(streams *streams.Streams, store *eventstore.Store, logger *slog.Logger) *Reader {
	return &Reader{streams: streams, store: store, logger: logger}
}

// HistoryQuery asks for the history of a hash.
type HistoryQuery struct {
	Hash string
	// Account is the id of the account that asks and sees its own links only. It is empty for an
	// operator, who sees all.
	Account string
	// MaxLinks bounds the number of links. The links that claimed the hash first are left out. 0:
	// all.
	MaxLinks int
	// Offset and Limit choose the page of entries to return. Limit 0: all.
	Offset, Limit int
	// NewestFirst puts the newest entries first. Offset then counts from the newest entry.
	NewestFirst bool
}

// History returns the events of a hash and of the links that ever had it, from their streams. It
// refuses with InvalidHash, and with URLNotFound if the hash was never claimed, or not by the
// account.
func (a *Reader) History(ctx context.Context, of HistoryQuery) (History, error) {
	if !hashes.Valid(of.Hash) {
		return History{}, domain.Refuse(
			domain.InvalidHash, "A hash is 1 to 25 of the characters A-Z a-z 0-9 _ -",
		)
	}
	loaded, err := a.streams.Load(ctx, events.StreamHash+of.Hash)
	if err != nil && !eventlog.IsUndecoded(err) {
		return History{}, err
	}
	links := hashes.Claimants(loaded.Events, of.Account)
	// The account of an event that cannot be decoded is unknown, so only accounts that had the hash
	// get the error.
	if err != nil && (len(links) > 0 || of.Account == "") {
		return History{}, err
	}
	claims := loaded.All()
	if len(links) == 0 {
		if of.Account != "" {
			return History{}, domain.Refuse(
				domain.URLNotFound, "The account never had a URL with the hash %q", of.Hash,
			)
		}
		return History{}, domain.Refuse(
			domain.URLNotFound, "There never was a URL with the hash %q", of.Hash,
		)
	}
	history := History{Hash: of.Hash, Links: []LinkLife{}}
	if of.MaxLinks > 0 && len(links) > of.MaxLinks {
		history.MoreLinks = len(links) - of.MaxLinks
		links = links[history.MoreLinks:]
	}
	claimed, err := claimEntries(claims, of.Account)
	if err != nil {
		return History{}, err
	}
	reading := historyReader{Reader: a, reader: of.Account, owners: make(map[string]owner)}
	if err := reading.read(ctx, &history, of, claimed, links); err != nil {
		return history, err
	}
	return history, reading.nameActors(ctx, history.Entries)
}

// historyReader reads the links of one history. It holds the events of one link at a time.
type historyReader struct {
	*Reader
	reader string
	owners map[string]owner // by account id

	link string // the link that was read last
	all  []streams.RecordedEvent
}

// nameActors adds the names of keys and persons to entries. If the details of a person cannot be
// read, it adds no name, because the history does not depend on it.
func (r *historyReader) nameActors(ctx context.Context, entries []Entry) error {
	names := make(map[string]string) // of persons, by id
	for i := range entries {
		actor := &entries[i].Actor
		if of, known := r.owners[actor.Account]; known {
			actor.KeyName = of.KeyName(actor.Key)
		}
		if actor.User == "" {
			continue
		}
		name, known := names[actor.User]
		if !known {
			person, err := people.Load(ctx, r.streams, actor.User)
			if err != nil && !errors.Is(err, streams.ErrNoKey) &&
				!errors.Is(err, streams.ErrNoKeys) && !eventlog.IsUndecoded(err) {
				return err
			}
			name = cmp.Or(person.Name, person.Mail)
			names[actor.User] = name
		}
		actor.UserName = name
	}
	return nil
}

// read fills in the links and the requested page. It reads all links to find the keys of the
// entries, then reads the links with entries on the page again.
func (r *historyReader) read(
	ctx context.Context, history *History, of HistoryQuery, claimed []Entry, links []string,
) error {
	everything := of.Offset == 0 && of.Limit == 0
	var order []entryKey
	for _, entry := range claimed {
		order = append(order, entry.key())
	}
	entries := claimed
	for _, link := range links {
		life, keys, full, err := r.entriesOf(ctx, link, func(entryKey) bool { return everything })
		if err != nil {
			return err
		}
		if life.ID != "" {
			history.Links = append(history.Links, life)
		}
		order, entries = append(order, keys...), append(entries, full...)
	}
	history.Total = len(order)
	if everything {
		slices.SortStableFunc(
			entries, func(a, b Entry) int { return byPosition(a.Position, b.Position) },
		)
		if of.NewestFirst {
			slices.Reverse(entries)
		}
		history.Entries = entries
		return nil
	}
	slices.SortStableFunc(
		order, func(a, b entryKey) int { return byPosition(a.position, b.position) },
	)
	if of.NewestFirst {
		slices.Reverse(order)
	}
	order = order[min(of.Offset, len(order)):]
	if of.Limit > 0 {
		order = order[:min(of.Limit, len(order))]
	}
	var err error
	history.Entries, err = r.page(ctx, order, claimed)
	return err
}

// page returns the entries with these keys.
func (r *historyReader) page(
	ctx context.Context, order []entryKey, claimed []Entry,
) ([]Entry, error) {
	wanted := make(map[entryKey]int, len(order))
	for i, key := range order {
		wanted[key] = i
	}
	page := make([]Entry, len(order))
	put := func(entries []Entry) {
		for _, entry := range entries {
			if i, ok := wanted[entry.key()]; ok {
				page[i] = entry
				delete(wanted, entry.key())
			}
		}
	}
	put(claimed)
	for _, key := range order {
		if _, missing := wanted[key]; !missing {
			continue
		}
		_, _, entries, err := r.entriesOf(
			ctx, key.link, func(p entryKey) bool { _, ok := wanted[p]; return ok },
		)
		if err != nil {
			return nil, err
		}
		put(entries)
	}
	return page, nil
}

// entriesOf reads one link. A claim whose link was never created has no entries.
func (r *historyReader) entriesOf(
	ctx context.Context, link string, include func(entryKey) bool,
) (LinkLife, []entryKey, []Entry, error) {
	if r.link != link {
		r.all = nil // frees the former link first
		all, err := r.linkEvents(ctx, link, r.owners)
		if err != nil {
			return LinkLife{}, nil, nil, err
		}
		r.link, r.all = link, all
	}
	return linkEntries(ctx, link, r.all, r.reader, include)
}

// owner is what the history of a link needs of its account.
type owner struct {
	accounts.Account
	tags map[string][]streams.RecordedEvent // the events of each tag, by its id
}

func (a *Reader) loadOwner(ctx context.Context, account string) (owner, error) {
	loaded, err := a.streams.Load(ctx, events.StreamTags+account)
	if err != nil {
		return owner{}, err
	}
	of := owner{tags: make(map[string][]streams.RecordedEvent)}
	for _, s := range loaded.All() {
		if id := domain.TagOf(s.Body); id != "" {
			of.tags[id] = append(of.tags[id], s)
		}
	}
	of.Account, err = accounts.Load(ctx, a.streams, account)
	return of, err
}

// linkEvents returns the events of a link and of the tags that it ever had, in the order of the
// log. owners caches accounts.
func (a *Reader) linkEvents(
	ctx context.Context, link string, owners map[string]owner,
) ([]streams.RecordedEvent, error) {
	loaded, err := a.streams.Load(ctx, events.LinkStream(link))
	if err != nil {
		return nil, err
	}
	all := slices.DeleteFunc(loaded.All(), func(s streams.RecordedEvent) bool {
		return strings.HasPrefix(s.Type, "hash.") // a claim in the stream of the link
	})
	account, tags := accountAndTags(loaded.Events)
	if account == "" {
		return all, nil
	}
	of, known := owners[account]
	if !known {
		if of, err = a.loadOwner(ctx, account); err != nil {
			return nil, err
		}
		owners[account] = of
	}
	if of.Erased {
		all = withoutNotes(all)
	}
	for _, id := range tags {
		all = append(all, of.tags[id]...)
	}
	slices.SortStableFunc(all, func(a, b streams.RecordedEvent) int {
		if a.Stream == b.Stream {
			return cmp.Compare(a.Revision, b.Revision)
		}
		return byPosition(a.Position, b.Position)
	})
	return all, nil
}

// accountAndTags returns the account of a link, and the ids of all tags that the link ever had,
// each once.
func accountAndTags(history []events.Event) (account string, tags []string) {
	seen := make(map[string]bool)
	for _, e := range history {
		var attached []string
		switch e := e.(type) {
		case events.URLCreated:
			account, attached = e.Account, e.Tags
		case events.URLTagged:
			attached = e.Tags
		}
		for _, id := range attached {
			if !seen[id] {
				seen[id] = true
				tags = append(tags, id)
			}
		}
	}
	return account, tags
}

// withoutNotes erases the notes in the events of a link, also notes that were never sealed.
func withoutNotes(all []streams.RecordedEvent) []streams.RecordedEvent {
	for i := range all {
		all[i].Body = sealing.Erase(all[i].Body)
	}
	return all
}
