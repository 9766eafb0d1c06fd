package commands

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"linkledger/commands/domain"
	"linkledger/events"
	"linkledger/events/eventstore"
)

func (h *Handler) checkCustomHash(hash string) error {
	if !ValidHash(hash) {
		return domain.Refuse(domain.HashUnavailable, "The custom hash must be 1 to 25 of the characters A-Z a-z 0-9 _ -")
	}
	if slices.Contains(h.cfg.ReservedHashes, hash) {
		return domain.Refuse(domain.HashUnavailable, "The custom hash %q is reserved, choose another", hash)
	}
	return nil
}

// claim reserves a hash for a link and returns the revision of the claim. A hash that is not free is refused with
// HashUnavailable. The link's own claim is returned as it is, unless it is spent: at or below that revision the link has
// left the hash or was told to.
func (h *Handler) claim(ctx context.Context, r domain.Request, hash, urlID string, spent eventstore.Revision) (eventstore.Revision, error) {
	stream := events.StreamHash + hash
	r.Command = uuid.NewSHA1(r.Command, []byte(urlID)) // another attempt, for another link, is another claim
	claimed := events.HashClaimed{Hash: hash, URLID: urlID, Account: r.Account, At: h.now()}
	if spent == eventstore.NoStream { // most hashes are new
		appended, err := h.append(ctx, r, stream, eventstore.NoStream, claimed)
		if !errors.Is(err, eventstore.ErrWrongRevision) {
			return appended.Revision, err
		}
	}
	return retry(func() (eventstore.Revision, error) {
		loaded, err := h.load(ctx, stream)
		if err != nil {
			return 0, err
		}
		state := foldHash(hash, loaded.events)
		if !state.released && state.urlID == urlID && state.claimed > spent {
			return state.claimed, nil
		}
		if err := h.checkFree(ctx, r, state, urlID); err != nil {
			return 0, err
		}
		appended, err := h.append(ctx, r, stream, state.revision, claimed)
		return appended.Revision, err
	})
}

// checkFree refuses a hash that somebody has. A vanished holder is fenced off first.
func (h *Handler) checkFree(ctx context.Context, r domain.Request, state hashClaim, urlID string) error {
	if state.revision == eventstore.NoStream {
		return nil
	}
	if state.owner != "" && state.owner != r.Account {
		return errHashTaken
	}
	if state.released || state.urlID == urlID {
		return nil
	}
	loaded, err := h.load(ctx, events.StreamURL+state.urlID)
	if err != nil {
		return err
	}
	now := h.now()
	switch state.holderOf(domain.FoldLink(loaded.events), now) {
	case holderGaveUp:
		return nil
	case holderLeft:
		if state.account == r.Account {
			return nil
		}
	case holderVanished:
		_, err := h.append(ctx, r, events.StreamURL+state.urlID, loaded.revision(),
			events.ClaimAbandoned{Hash: state.hash, ClaimRevision: uint64(state.claimed), At: now}) //nolint:gosec // a claim's revision is not negative
		return err
	case holderUses, holderNotYet:
	}
	return errHashTaken
}

// release gives up a hash. A failure leaves the claim to the same account, which is what a release does too, so callers
// only log it.
func (h *Handler) release(ctx context.Context, r domain.Request, hash, urlID string) error {
	_, err := retry(func() (eventstore.Appended, error) {
		loaded, err := h.load(ctx, events.StreamHash+hash)
		if err != nil {
			return eventstore.Appended{}, err
		}
		state := foldHash(hash, loaded.events)
		if state.released || state.urlID != urlID {
			return eventstore.Appended{}, nil
		}
		return h.append(ctx, r, events.StreamHash+hash, state.revision,
			events.HashReleased{Hash: hash, URLID: urlID, Account: state.account, At: h.now()})
	})
	return err
}
