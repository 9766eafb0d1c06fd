package hashes

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"linkledger/commands/domain"
	"linkledger/commands/streams"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventlog"
)

// Claims claims and releases hashes of links. It is safe for concurrent use.
type Claims struct {
	streams *streams.Streams
}

// New returns Claims.
func New(streams *streams.Streams) *Claims { return &Claims{streams: streams} }

// CheckCustomHash refuses, with HashUnavailable, a hash that is malformed.
func CheckCustomHash(hash string) error {
	if Valid(hash) {
		return nil
	}
	return domain.Refuse(
		domain.HashUnavailable,
		"The custom hash must be 1 to 25 of the characters A-Z a-z 0-9 _ -",
	)
}

// CheckNew refuses, with HashUnavailable, a reserved hash. It is for links that are created or
// renamed. A link that is restored may get a reserved hash back.
func CheckNew(hash string) error {
	if Reserved(hash) {
		return domain.Refuse(
			domain.HashUnavailable, "The custom hash %q is reserved, choose another", hash,
		)
	}
	return nil
}

// Claim claims a hash for a link and returns the revision of the claim. If the link already has a
// claim at a revision after spent, Claim returns that revision. Claims of the link up to spent do
// not count, because the link has left the hash since, or the claim was abandoned. Claim refuses
// with HashUnavailable if the hash is not free, or if events that cannot be decoded leave this
// unknown.
func (c *Claims) Claim(
	ctx context.Context, r domain.Request, hash, urlID string, spent eventstore.Revision,
) (eventstore.Revision, error) {
	stream := events.StreamHash + hash
	// The event id depends on the link, so a claim for another link is not a repeat.
	r.Command = uuid.NewSHA1(r.Command, []byte(urlID))
	claimed := events.HashClaimed{Hash: hash, URLID: urlID, Account: r.Account, At: c.streams.Now()}
	if spent == eventstore.NoStream { // most hashes are new
		appended, err := c.streams.Append(ctx, r, stream, eventstore.NoStream, claimed)
		if !errors.Is(err, eventstore.ErrWrongRevision) {
			return appended.Revision, err
		}
	}
	return eventstore.Retry(func() (eventstore.Revision, error) {
		loaded, err := c.streams.Load(ctx, stream)
		if err != nil {
			return 0, OrTaken(err)
		}
		state := Fold(hash, loaded.Events)
		if !state.released && state.URLID == urlID && state.claimed > spent {
			return state.claimed, nil
		}
		if err := c.checkFree(ctx, r, state, loaded, urlID); err != nil {
			return 0, err
		}
		appended, err := c.streams.Append(ctx, r, stream, state.revision, claimed)
		return appended.Revision, err
	})
}

// checkFree refuses a hash that belongs to another link. If the claim of the other link has
// expired, checkFree first abandons it in the stream of that link, so that a late append of that
// link fails.
func (c *Claims) checkFree(
	ctx context.Context, r domain.Request, state State, claims streams.History, urlID string,
) error {
	if state.revision == eventstore.NoStream {
		return nil
	}
	if state.owner != "" && state.owner != r.Account {
		return ErrTaken
	}
	// A stream without a claim has only an abandoned creation.
	if state.released || state.URLID == urlID || state.URLID == "" {
		return nil
	}
	loaded, err := c.LoadLink(ctx, state.hash, claims, state.URLID)
	if err != nil {
		return OrTaken(err)
	}
	now := c.streams.Now()
	switch state.statusFor(domain.FoldLink(loaded.Events), now) {
	case claimAbandoned:
		return nil
	case claimLeft:
		if state.Account == r.Account {
			return nil
		}
	case claimExpired:
		// The link may live in the stream of the hash. The new claim is appended there too, so this
		// append needs a command id of its own.
		r.Command = uuid.NewSHA1(r.Command, []byte("abandon"))
		_, err := c.streams.Append(ctx, r, events.LinkStream(state.URLID), loaded.Revision(),
			//nolint:gosec // a claim's revision is not negative
			events.ClaimAbandoned{Hash: state.hash, ClaimRevision: uint64(state.claimed), At: now})
		return err
	case claimInUse, claimPending:
	}
	return ErrTaken
}

// OrTaken returns ErrTaken for an error about an event that cannot be decoded, because the owner of
// the hash is then unknown, and may be another account than the caller's. It returns other errors
// unchanged.
func OrTaken(err error) error {
	if eventlog.IsUndecoded(err) {
		return ErrTaken
	}
	return err
}

// LoadLink loads a link that claimed a hash, as streams.Streams.Load does. claims is the loaded
// stream of the hash, in which the link itself may live.
func (c *Claims) LoadLink(
	ctx context.Context, hash string, claims streams.History, urlID string,
) (streams.History, error) {
	stream := events.LinkStream(urlID)
	if stream == events.StreamHash+hash {
		return claims, claims.Err()
	}
	return c.streams.Load(ctx, stream)
}

// Release frees a hash that a link has left, so that other links of the account can get it. It does
// nothing if the link has claimed the hash again at a revision after spent. If Release fails, the
// hash stays claimed. The account may still claim it for another link, so callers only log the
// error.
func (c *Claims) Release(
	ctx context.Context, r domain.Request, hash, urlID string, spent eventstore.Revision,
) error {
	// The release needs a command id of its own, because the command may have changed a link that
	// lives in the same stream.
	r.Command = uuid.NewSHA1(r.Command, []byte("release"))
	_, err := eventstore.Retry(func() (eventstore.Appended, error) {
		loaded, err := c.streams.Load(ctx, events.StreamHash+hash)
		if err != nil {
			return eventstore.Appended{}, err
		}
		state := Fold(hash, loaded.Events)
		if state.released || state.URLID != urlID || state.claimed > spent {
			return eventstore.Appended{}, nil
		}
		return c.streams.Append(ctx, r, events.StreamHash+hash, state.revision,
			events.HashReleased{
				Hash: hash, URLID: urlID, Account: state.Account, At: c.streams.Now(),
			})
	})
	return err
}
