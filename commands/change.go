package commands

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"

	"linkledger/commands/domain"
	"linkledger/commands/hashes"
	"linkledger/commands/permit"
	"linkledger/commands/streams"
	"linkledger/events"
	"linkledger/events/eventstore/eventlog"
)

// reading is how a command reads the stream of a link.
type reading bool

const (
	whole reading = true
	// ending leaves out events that cannot be decoded. It is for commands that only end a link.
	ending reading = false
)

// changeURL loads a link and appends the events that decide returns. A command that was carried
// out before appends nothing.
func (h *Handler) changeURL(
	ctx context.Context, r domain.Request, read reading, ref Ref,
	decide func(domain.Link) ([]events.Event, error),
) (URLOutcome, error) {
	url, loaded, err := h.find(ctx, r, read, ref)
	if err != nil {
		return URLOutcome{}, err
	}
	if loaded.Has(r.Command, events.LinkStream(url.ID)) {
		return URLOutcome{URL: url, Position: loaded.Position()}, nil
	}
	changes, err := decide(url)
	if err != nil {
		return URLOutcome{}, err
	}
	return h.commit(ctx, r, url, loaded, changes)
}

// commit appends changes to the stream of a loaded link. If the link leaves its hash by them, the
// hash is released.
func (h *Handler) commit(
	ctx context.Context, r domain.Request, url domain.Link, loaded streams.History,
	changes []events.Event,
) (URLOutcome, error) {
	if len(changes) == 0 {
		return URLOutcome{URL: url, Position: loaded.Position()}, nil
	}
	appended, err := h.streams.Append(
		ctx, r, events.LinkStream(url.ID), loaded.Revision(), changes...,
	)
	if err != nil {
		return URLOutcome{}, err
	}
	before := url
	for _, e := range changes {
		url.Apply(e)
	}
	if before.Live() && (url.Deleted || url.Hash != before.Hash) {
		h.releaseAfter(ctx, r, before.Hash, url)
	}
	return URLOutcome{URL: url, Position: appended.Position, Changed: true}, nil
}

// find loads a live link of the account that the caller sees.
func (h *Handler) find(
	ctx context.Context, r domain.Request, read reading, ref Ref,
) (domain.Link, streams.History, error) {
	if ref.ID == "" {
		return h.urlByHash(ctx, r, read, ref.Hash)
	}
	loaded, err := h.streams.Load(ctx, events.LinkStream(ref.ID))
	missing := domain.Refuse(domain.URLNotFound, "There is no URL with the id %q", ref.ID)
	return h.found(ctx, r, read, ref.ID, loaded, err, missing, domain.Link.Live)
}

// maxClaimants is how many links of an account are looked at that have claimed a hash.
const maxClaimants = 4

// urlByHash loads the account's live link with a hash, which the hash's own stream names. A link
// that left the hash by this command is found too, so that a repeated command finds its effect. It
// depends on no event of the hash that cannot be decoded or that makes no sense: whether a link has
// the hash, its own stream says. So if the last claim leads to no such link, the claims of the
// account before it may.
func (h *Handler) urlByHash(
	ctx context.Context, r domain.Request, read reading, hash string,
) (domain.Link, streams.History, error) {
	missing := domain.ErrNoURL(hash)
	if !hashes.Valid(hash) {
		return domain.Link{}, streams.History{}, domain.Refuse(
			domain.InvalidHash, "A hash is 1 to 25 of the characters A-Z a-z 0-9 _ -",
		)
	}
	claims, err := h.streams.Load(ctx, events.StreamHash+hash)
	if err != nil && !eventlog.IsUndecoded(err) {
		return domain.Link{}, streams.History{}, err
	}
	claimants := hashes.LastClaimants(claims.Events, r.Account)
	slices.Reverse(claimants)
	for _, id := range claimants[:min(len(claimants), maxClaimants)] {
		loaded, err := h.hashes.LoadLink(ctx, hash, claims, id)
		url, history, err := h.found(
			ctx, r, read, id, loaded, err, missing,
			func(u domain.Link) bool { return u.Live() && u.Hash == hash },
		)
		if !errors.Is(err, missing) {
			return url, history, err
		}
	}
	return domain.Link{}, streams.History{}, missing
}

// found returns a loaded link if it is one of the account that the caller sees, and that is meant
// or was left by this command. err is that of loading it. Of a link whose state is unknown, the
// account is told so, and nobody else.
func (h *Handler) found(
	ctx context.Context, r domain.Request, read reading, id string, loaded streams.History,
	err, missing error, meant func(domain.Link) bool,
) (domain.Link, streams.History, error) {
	if err != nil && !eventlog.IsUndecoded(err) {
		return domain.Link{}, streams.History{}, err
	}
	url := domain.FoldLink(loaded.Events)
	if url.Account != r.Account || !meant(url) && !loaded.Has(r.Command, events.LinkStream(id)) {
		return domain.Link{}, streams.History{}, missing
	}
	if err != nil && r.Bound != nil { // the link may have left the bound
		return domain.Link{}, streams.History{}, missing
	}
	if err != nil && read == whole {
		return domain.Link{}, streams.History{}, err
	}
	if sees, err := h.sees(ctx, r, url); err != nil || !sees {
		return domain.Link{}, streams.History{}, cmp.Or(err, missing)
	}
	return url, loaded, nil
}

// releaseAfter releases a hash that a link has left. A failure is logged only: the link's own
// events show that it left the hash, so the account may claim the hash again either way.
func (h *Handler) releaseAfter(
	ctx context.Context, r domain.Request, hash string, url domain.Link,
) {
	ctx = permit.Without(ctx) // the link has left its hash
	if err := h.hashes.Release(ctx, r, hash, url.ID, url.SpentRevision(hash)); err != nil {
		h.cfg.Logger.WarnContext(ctx, "hash not released, it stays claimed until its account uses "+
			"it again",
			slog.String("hash", hash), slog.String("url", url.ID), slog.Any("error", err))
	}
}
