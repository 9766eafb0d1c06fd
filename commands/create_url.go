package commands

import (
	"context"

	"github.com/google/uuid"

	"linkledger/commands/batch"
	"linkledger/commands/domain"
	"linkledger/commands/hashes"
	"linkledger/commands/linkquota"
	"linkledger/commands/linkwrite"
	"linkledger/commands/streams"
	"linkledger/events"
	"linkledger/events/eventstore"
)

// CreateURL is one link to create. A field that is not given has its zero value.
type CreateURL struct {
	LongURL    string
	CustomHash string // empty: generated
	Note       string
	events.Settings
	Tags []string // labels; missing tags are created

	// If Unique is true and the account already has a link to LongURL, that link is returned and
	// none is created. If CustomHash is set too, only a link with that hash counts.
	Unique bool
	// Known is for Unique: ids of the account's links that lead to LongURL according to the read
	// model. The read model may be behind, so the streams of these links are checked.
	Known []string
}

// URLsOutcome has one outcome for each item of a batch, in the order of the items.
type URLsOutcome struct {
	Items []linkwrite.Outcome
	Tags  eventstore.Position // of the last event of the account's tags; zero: none, or not read
}

// CreateURLs creates links concurrently. An item that fails does not affect the others. If two
// items have the same custom hash, the first item gets the hash.
func (h *Handler) CreateURLs(ctx context.Context, r domain.Request, items []CreateURL) URLsOutcome {
	outcome := URLsOutcome{Items: make([]linkwrite.Outcome, len(items))}
	labels, labelled := make([][]string, len(items)), false
	known, nothing, err := h.boundTags(ctx, r)
	if err != nil {
		return outcome.failed(err)
	}
	if nothing {
		return outcome.failed(domain.ErrLeavesBound)
	}
	for i, item := range items {
		if outcome.Items[i].Err = h.checkCreate(r, item, known); outcome.Items[i].Err == nil {
			labels[i], labelled = item.Tags, labelled || len(item.Tags) > 0
		}
	}
	var tags domain.Tags
	if labelled {
		var refused []error
		if tags, refused, outcome.Tags, err = h.ensureTags(ctx, r, labels); err != nil {
			return outcome.failed(err)
		}
		outcome.refused(refused)
	}
	var made createdLinks
	var order batch.Turns
	if r.Plan.LimitsURLs() {
		order = batch.NewTurns(len(items))
	}
	batch.Run(len(items), func(i int) []string { return items[i].keys() }, func(i int) {
		reservation := h.cfg.Quotas.Reserve(r, order, i)
		defer reservation.PassTurn()
		if outcome.Items[i].Err != nil {
			return
		}
		item := items[i]
		if item.Unique {
			item.Known = append(made.leadingTo(item.LongURL), item.Known...)
		}
		outcome.Items[i] = h.createURL(ctx, r.Item(i), item, tags, reservation)
		made.add(outcome.Items[i])
	})
	return outcome
}

// keys returns the keys of the item for batch.Run. Items share a key if they want the same hash, or
// the same unique long URL.
func (c CreateURL) keys() []string {
	var keys []string
	if c.CustomHash != "" {
		keys = append(keys, c.CustomHash)
	}
	if c.Unique {
		keys = append(keys, c.LongURL)
	}
	return keys
}

func (h *Handler) checkCreate(r domain.Request, item CreateURL, known domain.Tags) error {
	if err := h.cfg.Destinations.Check(item.LongURL, r.ShortHost); err != nil {
		return err
	}
	if item.CustomHash != "" {
		if err := hashes.CheckCustomHash(item.CustomHash); err != nil {
			return err
		}
	}
	if err := domain.CheckSettings(item.Change()); err != nil {
		return err
	}
	if err := domain.CheckLabels(item.Tags); err != nil {
		return err
	}
	if err := domain.CheckTagCount(item.Tags); err != nil {
		return err
	}
	return h.createsWithin(r, item, known)
}

func (h *Handler) createURL(
	ctx context.Context, r domain.Request, item CreateURL, tags domain.Tags,
	reservation *linkquota.Reservation,
) linkwrite.Outcome {
	create := h.tryCreateURL
	if item.Unique {
		create = h.tryCreateUniqueURL
	}
	outcome, err := eventstore.Retry(func() (linkwrite.Outcome, error) {
		defer reservation.Release() // does nothing if the link was created
		return create(ctx, r, item, tags, reservation)
	})
	if err != nil {
		return linkwrite.Outcome{Err: err}
	}
	if !tags.Empty() {
		outcome.Labels = tags.Labels(outcome.URL.Tags)
	}
	return outcome
}

// newLink is a link to create.
type newLink struct {
	id, hash string
	// generated is true if the hash was generated. Then the id contains the hash, and the link is
	// created in the stream of the hash.
	generated bool
}

func newGenerated(hash string) newLink {
	id, _ := events.LinkOfHash(hash) // never fails: a generated hash is short
	return newLink{id, hash, true}
}

func (l newLink) stream() string { return events.LinkStream(l.id) }

// tryCreateURL creates the link. It returns ErrWrongRevision if another writer was faster, for the
// hash or for the link.
func (h *Handler) tryCreateURL(
	ctx context.Context, r domain.Request, item CreateURL, tags domain.Tags,
	reservation *linkquota.Reservation,
) (linkwrite.Outcome, error) {
	link, earlier, err := h.newURL(ctx, r, item.CustomHash)
	if err != nil || earlier.URL.ID != "" {
		return earlier, err
	}
	created, err := h.create(ctx, r, link, item, tags, reservation)
	// A concurrent repeat of the command may have created the link, and so have used up the plan.
	if r.Repeated && linkquota.IsRefused(err) {
		if _, earlier, missing := h.newURL(ctx, r, item.CustomHash); missing == nil &&
			earlier.URL.ID != "" {
			return earlier, nil
		}
	}
	return created, err
}

// create reserves the link in the plan of the account, claims a custom hash, and creates the link.
// A generated hash and its link share one stream, so one append claims the hash and creates the
// link.
func (h *Handler) create(
	ctx context.Context, r domain.Request, link newLink, item CreateURL, tags domain.Tags,
	reservation *linkquota.Reservation,
) (linkwrite.Outcome, error) {
	if !link.generated {
		if err := hashes.CheckNew(link.hash); err != nil {
			return linkwrite.Outcome{}, err
		}
	}
	at, err := reservation.Take(ctx, link.id, h.streams.Now())
	if err != nil {
		return linkwrite.Outcome{}, err
	}
	var claim eventstore.Revision
	if !link.generated {
		claim, err = h.hashes.Claim(ctx, r, link.hash, link.id, eventstore.NoStream)
		if err != nil {
			return linkwrite.Outcome{}, err
		}
	}
	created := events.URLCreated{
		ClaimsHash: link.generated, ClaimRevision: uint64(claim), URLID: link.id,
		Account: r.Account, Hash: link.hash, LongURL: item.LongURL,
		Note: domain.TrimNote(item.Note), Settings: item.Settings,
		Tags: tags.IDs(item.Tags), At: at,
	}
	appended, err := h.streams.Append(
		ctx, r.Creating(link.hash, at), link.stream(), eventstore.NoStream, created,
	)
	reservation.Finish(err)
	if err != nil {
		return linkwrite.Outcome{}, err
	}
	return linkwrite.Outcome{
		URL: domain.FoldLink([]events.Event{created}), Position: appended.Position, Changed: true,
	}, nil
}

// newURL returns the id and the hash of the link to create. If an earlier attempt of the same
// command has created the link, the Outcome has that link. If customHash is empty, newURL generates
// a hash.
func (h *Handler) newURL(
	ctx context.Context, r domain.Request, customHash string,
) (newLink, linkwrite.Outcome, error) {
	switch {
	case r.Repeated:
		return h.derivedURL(ctx, r, customHash, h.streams.Load)
	case customHash == "":
		return newGenerated(hashes.Generate()), linkwrite.Outcome{}, nil
	}
	id, err := uuid.NewV7() // new ids lie side by side in the read model's indexes
	return newLink{id: id.String(), hash: customHash}, linkwrite.Outcome{}, err
}

// derivedURL is newURL with an id that derives from the command, so that all attempts and repeats
// of the command use the same id. load loads a stream.
func (h *Handler) derivedURL(
	ctx context.Context, r domain.Request, customHash string,
	load func(context.Context, string) (streams.History, error),
) (newLink, linkwrite.Outcome, error) {
	for attempt := range byte(eventstore.MaxAttempts) {
		link := newGenerated(hashes.GenerateFor(r.Command, attempt))
		if customHash != "" {
			id := uuid.NewSHA1(r.Command, []byte{'u', attempt})
			link = newLink{id: id.String(), hash: customHash}
		}
		loaded, err := load(ctx, link.stream())
		if err != nil {
			return newLink{}, linkwrite.Outcome{}, err
		}
		if len(loaded.Events) == 0 {
			return link, linkwrite.Outcome{}, nil
		}
		// If the stream lacks the link of this command, the next id is tried. Such a stream has an
		// abandoned creation. The stream of a generated hash may instead have the link of another
		// command, or claims of the hash as a custom hash.
		url := domain.FoldLink(loaded.Events)
		if url.ID != "" && (!link.generated ||
			loaded.Has(r.Creating(link.hash, url.CreatedAt).Command, link.stream())) {
			return link, linkwrite.Outcome{URL: url, Position: loaded.Position()}, nil
		}
	}
	return newLink{}, linkwrite.Outcome{}, eventstore.ErrBusy
}
