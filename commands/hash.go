package commands

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
)

const (
	// claimTimeout is how long a claimed hash waits for its link before somebody else may take it over.
	claimTimeout = time.Minute
	// generatedLength gives 31^7 (27 billion) generated hashes.
	generatedLength = 7
	// hashAlphabet leaves out characters that look alike: 0 o, 1 l i.
	hashAlphabet = "23456789abcdefghjkmnpqrstuvwxyz"
)

// maxHash is the longest hash, in bytes.
const maxHash = 25

// ValidHash tells whether a string can be a hash at all: 1 to 25 of the characters A-Z a-z 0-9 _ -.
func ValidHash(hash string) bool {
	for i := range len(hash) {
		switch c := hash[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return 0 < len(hash) && len(hash) <= maxHash
}

func (h *Handler) checkCustomHash(hash string) error {
	if !ValidHash(hash) {
		return refuse(HashUnavailable, "The custom hash must be 1 to 25 of the characters A-Z a-z 0-9 _ -")
	}
	if slices.Contains(h.cfg.ReservedHashes, hash) {
		return refuse(HashUnavailable, "The custom hash %q is reserved, choose another", hash)
	}
	return nil
}

// generateHash draws a hash from crypto/rand, without bias.
func generateHash() string {
	const unbiased = 256 - 256%len(hashAlphabet)
	var hash strings.Builder
	random := make([]byte, 2*generatedLength)
	for hash.Len() < generatedLength {
		_, _ = rand.Read(random) // never fails
		for _, b := range random {
			if int(b) < unbiased && hash.Len() < generatedLength {
				hash.WriteByte(hashAlphabet[int(b)%len(hashAlphabet)])
			}
		}
	}
	return hash.String()
}

// hashClaim is the state of one hash, folded from its stream.
type hashClaim struct {
	hash     string
	owner    string // the account whose links have lived under the hash and left it; empty: none has
	urlID    string // of the last claim
	account  string
	at       time.Time
	claimed  eventstore.Revision // of the last claim
	released bool
	revision eventstore.Revision // of the stream
}

func foldHash(hash string, history []events.Event) hashClaim {
	c := hashClaim{hash: hash, claimed: eventstore.NoStream, revision: eventstore.NoStream}
	for _, e := range history {
		c.revision++
		switch e := e.(type) {
		case events.HashClaimed:
			c.urlID, c.account, c.at, c.claimed, c.released = e.URLID, e.Account, e.At, c.revision, false
		case events.HashReleased:
			c.released, c.owner = true, e.Account
		}
	}
	return c
}

// holder says what the link that made a claim makes of it.
type holder int

const (
	holderUses     holder = iota // the link lives under this hash
	holderLeft                   // the link was deleted or renamed; only the release is missing
	holderNotYet                 // the link may still be on its way
	holderVanished               // the link never came: the claim must be abandoned, then anybody may have the hash
	holderGaveUp                 // as holderVanished, and abandoned already
)

// holderOf decides what the link in its state makes of its last claim of this hash.
func (c hashClaim) holderOf(url URL, now time.Time) holder {
	spent, isSpent := url.spent[c.hash]
	switch {
	case isSpent && spent.revision >= c.claimed && spent.abandoned:
		return holderGaveUp
	case isSpent && spent.revision >= c.claimed:
		return holderLeft
	case url.Live() && url.Hash == c.hash:
		return holderUses
	case now.Sub(c.at) < claimTimeout:
		return holderNotYet
	default:
		return holderVanished
	}
}

var errHashTaken = &Error{Kind: HashUnavailable, Details: "That custom hash is already in use"}

// claim reserves a hash for a link and returns the revision of the claim. A hash that is not free is refused with
// HashUnavailable. The link's own claim is returned as it is, unless it is spent: at or below that revision the link has
// left the hash or was told to.
func (h *Handler) claim(ctx context.Context, r Request, hash, urlID string, spent eventstore.Revision) (eventstore.Revision, error) {
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
func (h *Handler) checkFree(ctx context.Context, r Request, state hashClaim, urlID string) error {
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
	switch state.holderOf(foldURL(loaded.events), now) {
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
func (h *Handler) release(ctx context.Context, r Request, hash, urlID string) error {
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
