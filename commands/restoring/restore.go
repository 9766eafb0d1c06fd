// Package restoring gives links an earlier state: it undoes deletions and the changes of calls. It
// finds the earlier state in the streams of the links, and not in a read model.
package restoring

import (
	"context"
	"errors"
	"slices"

	"linkledger/commands/accounts"
	"linkledger/commands/destination"
	"linkledger/commands/domain"
	"linkledger/commands/hashes"
	"linkledger/commands/linkquota"
	"linkledger/commands/linkwrite"
	"linkledger/commands/streams"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventlog"
)

// maxRestorable is how many links that claimed the hash are searched for the link to restore,
// latest claims first.
const maxRestorable = 100

// Config configures a Restorer. Streams, Links and Hashes are required.
type Config struct {
	Streams *streams.Streams
	Links   *linkwrite.Links
	Hashes  *hashes.Claims
	// Destinations say where links may lead to.
	Destinations destination.Rules
	// Quotas keep the number of links of an account within its plan. If nil, Request.Plan must have
	// no limits.
	Quotas *linkquota.Quotas
}

// Restorer restores links. It is safe for concurrent use.
type Restorer struct{ cfg Config }

// New returns a Restorer.
func New(cfg Config) *Restorer { return &Restorer{cfg} }

// RestoreURL is a link to restore, identified by its hash, or its last hash if it is deleted.
type RestoreURL struct {
	Hash string
	// Version is a revision of the link's stream. The link gets the state that it had right after
	// the event with that revision. If nil, the link's deletion is undone.
	Version *int64
}

// RestoreURL restores the destination, note, settings, hash and tags of a link of the account, but
// not its clicks. Tags that were deleted since stay deleted. A field that already has the value
// needs no event, so a restoration may be repeated.
//
// It refuses with InvalidHash if the hash is malformed, and with URLNotFound if no link of the
// account has the hash or had it when it was deleted. Further refusals are InvalidValue if the link
// has no such version or was deleted in it, HashUnavailable if another link has the hash now,
// URLLimitReached if the plan allows no further link, and InvalidURL or URLNotAllowed if the
// destination is no longer allowed. For operators, blocked hosts are allowed destinations.
func (s *Restorer) RestoreURL(
	ctx context.Context, r domain.Request, restore RestoreURL,
) linkwrite.Outcome {
	outcome, err := eventstore.Retry(
		func() (linkwrite.Outcome, error) { return s.tryRestoreURL(ctx, r, restore) },
	)
	if err != nil {
		return linkwrite.Outcome{Err: err}
	}
	// The link is restored. Only the answer needs the labels, so events of tags that cannot be
	// decoded are skipped.
	tags, err := s.cfg.Streams.LoadReadable(ctx, events.StreamTags+outcome.URL.Account)
	if err != nil {
		return linkwrite.Outcome{Err: err}
	}
	outcome.Labels = domain.FoldTags(tags.Events).Labels(outcome.URL.Tags)
	return outcome
}

func (s *Restorer) tryRestoreURL(
	ctx context.Context, r domain.Request, restore RestoreURL,
) (linkwrite.Outcome, error) {
	lives, err := s.linksUnder(ctx, r, restore.Hash)
	if err != nil {
		return linkwrite.Outcome{}, err
	}
	loaded := lives[0]
	url := domain.FoldLink(loaded.Events)
	if r.Operator {
		r.Account = url.Account
	}
	switch {
	case loaded.Has(r.Command, events.LinkStream(url.ID)):
		return linkwrite.Outcome{URL: url, Position: loaded.Position()}, nil
	case restore.Version == nil && url.Live() && len(lives) > 1 && !wasRestored(loaded):
		return linkwrite.Outcome{}, domain.ErrHashGivenAway(url.Hash)
	}
	was, err := versionOf(loaded, restore.Version)
	if err != nil {
		return linkwrite.Outcome{}, err
	}
	return s.restoreTo(ctx, r, s.cfg.Links.Attempt(r), url, loaded, was)
}

// linksUnder loads the links of the account that have the hash, or had it when they were deleted,
// latest claims first.
func (s *Restorer) linksUnder(
	ctx context.Context, r domain.Request, hash string,
) ([]streams.History, error) {
	if !hashes.Valid(hash) {
		return nil, domain.Refuse(
			domain.InvalidHash, "A hash is 1 to 25 of the characters A-Z a-z 0-9 _ -",
		)
	}
	claims, err := s.cfg.Streams.Load(ctx, events.StreamHash+hash)
	if err != nil && !eventlog.IsUndecoded(err) {
		return nil, err
	}
	links := hashes.LastClaimants(claims.Events, r.Account)
	if err != nil && (len(links) > 0 || r.Operator) { // other accounts never had the hash
		return nil, err
	}
	var lives []streams.History
	for _, link := range slices.Backward(links[max(0, len(links)-maxRestorable):]) {
		loaded, err := s.cfg.Hashes.LoadLink(ctx, hash, claims, link)
		if err != nil {
			return nil, err
		}
		if url := domain.FoldLink(loaded.Events); url.ID != "" && url.Hash == hash {
			lives = append(lives, loaded)
		}
	}
	if len(lives) == 0 {
		return nil, domain.Refuse(
			domain.URLNotFound, "No URL has the hash %q, or had it when it was deleted", hash,
		)
	}
	return lives, nil
}

func wasRestored(l streams.History) bool {
	return slices.ContainsFunc(
		l.Events, func(e events.Event) bool { _, ok := e.(events.URLRestored); return ok },
	)
}

// versionOf returns a link as it was right after an event of its stream. If the revision is nil, it
// returns the link in its last state, but not deleted.
func versionOf(l streams.History, revision *int64) (domain.Link, error) {
	if revision == nil {
		url := domain.FoldLink(l.Events)
		url.Deleted = false
		return url, nil
	}
	last := int64(l.Revision())
	if *revision < 0 || *revision > last {
		return domain.Link{}, domain.Refuse(
			domain.InvalidValue, "The URL has the versions 0 to %d, not %d", last, *revision,
		)
	}
	url := domain.FoldLink(l.Events[:*revision+1])
	if !url.Live() {
		return domain.Link{}, domain.Refuse(
			domain.InvalidValue, "In version %d the URL is deleted, choose another one", *revision,
		)
	}
	return url, nil
}

// restoreTo appends the events that give a link the state of was, followed by further events.
// attempt is an attempt of the request r.
func (s *Restorer) restoreTo(
	ctx context.Context, r domain.Request, attempt *linkwrite.Attempt, url domain.Link,
	loaded streams.History, was domain.Link, further ...events.Event,
) (linkwrite.Outcome, error) {
	if url.Deleted || was.LongURL != url.LongURL {
		rules := s.cfg.Destinations
		if r.Operator { // operators restore links to hosts that have been blocked since
			rules.Blocked = nil
		}
		if err := rules.Check(was.LongURL, r.ShortHost); err != nil {
			return linkwrite.Outcome{}, err
		}
	}
	if r.Operator { // only operators act for an erased account
		owner, err := accounts.Load(ctx, s.cfg.Streams, url.Account)
		if err != nil {
			return linkwrite.Outcome{}, err
		}
		if owner.Erased { // an erased note stays erased
			was.Note, was.Erased = url.Note, url.Erased
		}
	}
	at := s.cfg.Streams.Now()
	if err := attempt.StaysWithin(
		ctx, url, func() []events.Event { return url.Restore(was, 0, at) },
	); err != nil {
		return linkwrite.Outcome{}, err
	}
	var reservation *linkquota.Reservation
	if url.Deleted {
		reservation = s.cfg.Quotas.ReserveToRestore(r)
		defer reservation.Release() // does nothing if the link was restored
		var err error
		if at, err = reservation.Take(ctx, url.ID, at); err != nil {
			return linkwrite.Outcome{}, err
		}
	}
	var claim eventstore.Revision
	if url.Deleted || was.Hash != url.Hash {
		var err error
		claim, err = s.cfg.Hashes.Claim(ctx, r, was.Hash, url.ID, url.SpentRevision(was.Hash))
		if errors.Is(err, hashes.ErrTaken) {
			return linkwrite.Outcome{}, domain.ErrHashGivenAway(was.Hash)
		}
		if err != nil {
			return linkwrite.Outcome{}, err
		}
	}
	outcome, err := attempt.Commit(
		ctx, url, loaded, append(url.Restore(was, claim, at), further...),
	)
	if url.Deleted {
		reservation.Finish(err)
	}
	return outcome, err
}
