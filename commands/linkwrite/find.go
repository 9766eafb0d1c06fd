package linkwrite

// A link is found by its id or by its hash, and only if the caller sees it.

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"linkledger/commands/domain"
	"linkledger/commands/hashes"
	"linkledger/commands/streams"
	"linkledger/events"
	"linkledger/events/eventstore/eventlog"
)

// Find loads a live link of the account that the caller sees. It refuses with URLNotFound and
// InvalidHash.
func (a *Attempt) Find(
	ctx context.Context, read Reading, ref Ref,
) (domain.Link, streams.History, error) {
	if ref.ID == "" {
		return a.UnderHash(ctx, read, ref.Hash)
	}
	loaded, err := a.links.streams.Load(ctx, events.LinkStream(ref.ID))
	missing := domain.Refuse(domain.URLNotFound, "There is no URL with the id %q", ref.ID)
	return a.found(ctx, read, ref.ID, loaded, err, missing, domain.Link.Live)
}

// maxClaimants is how many of the account's links that claimed a hash are read, the last claims
// first.
const maxClaimants = 4

// UnderHash loads the account's live link with a hash. The stream of the hash names links that
// claimed the hash, and the stream of a link says whether the link has it. So events of the hash
// that cannot be decoded or make no sense do no harm. If the last claim leads to no link with the
// hash, UnderHash tries the account's earlier claims. It also finds a link that this command has
// taken the hash from, so that a repeated command finds its effect.
func (a *Attempt) UnderHash(
	ctx context.Context, read Reading, hash string,
) (domain.Link, streams.History, error) {
	missing := domain.ErrNoURL(hash)
	if !hashes.Valid(hash) {
		return domain.Link{}, streams.History{}, domain.Refuse(
			domain.InvalidHash, "A hash is 1 to 25 of the characters A-Z a-z 0-9 _ -",
		)
	}
	claims, err := a.links.streams.Load(ctx, events.StreamHash+hash)
	if err != nil && !eventlog.IsUndecoded(err) {
		return domain.Link{}, streams.History{}, err
	}
	claimants := hashes.LastClaimants(claims.Events, a.request.Account)
	slices.Reverse(claimants)
	for _, id := range claimants[:min(len(claimants), maxClaimants)] {
		loaded, err := a.links.hashes.LoadLink(ctx, hash, claims, id)
		url, history, err := a.found(
			ctx, read, id, loaded, err, missing,
			func(u domain.Link) bool { return u.Live() && u.Hash == hash },
		)
		if !errors.Is(err, missing) {
			return url, history, err
		}
	}
	return domain.Link{}, streams.History{}, missing
}

// found returns a loaded link if the account of the caller has it, the caller may see it, and
// either meant accepts it or this command has an event in its stream. Otherwise it returns missing.
// err is the error of loading the link. If err leaves the state of the link unknown, callers of
// other accounts and callers with a bound get missing instead.
func (a *Attempt) found(
	ctx context.Context, read Reading, id string, loaded streams.History, err, missing error,
	meant func(domain.Link) bool,
) (domain.Link, streams.History, error) {
	if err != nil && !eventlog.IsUndecoded(err) {
		return domain.Link{}, streams.History{}, err
	}
	r, url := a.request, domain.FoldLink(loaded.Events)
	if url.Account != r.Account || !meant(url) && !loaded.Has(r.Command, events.LinkStream(id)) {
		return domain.Link{}, streams.History{}, missing
	}
	if err != nil && r.Bound != nil { // the link may have left the bound
		return domain.Link{}, streams.History{}, missing
	}
	if err != nil && read == Whole {
		return domain.Link{}, streams.History{}, err
	}
	if sees, err := a.Sees(ctx, url); err != nil || !sees {
		return domain.Link{}, streams.History{}, cmp.Or(err, missing)
	}
	return url, loaded, nil
}
