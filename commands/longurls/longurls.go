// Package longurls gives an account at most one link to a long URL: it finds the link that the
// account has, and claims the long URL for a new one.
package longurls

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/domain"
	"linkledger/commands/hashes"
	"linkledger/commands/streams"
	"linkledger/events"
	"linkledger/events/eventstore"
)

const (
	// CreationTimeout is how long a command waits for a link that another command is creating, and
	// that it could return. Giving up too early does no harm. Claim lets the waiting command create
	// its own link, but first makes the creation by the other command fail. The other command then
	// returns the link of the command that waited. Under returns hashes.ErrTaken.
	CreationTimeout = 2 * time.Second
	// creationPoll is the time between two looks for that link. Each look by Under costs an attempt
	// of the command, so eventstore.MaxAttempts intervals MUST be longer than CreationTimeout.
	creationPoll = 25 * time.Millisecond
)

// Claims claims long URLs for links. It is safe for concurrent use.
type Claims struct {
	streams *streams.Streams
	hashes  *hashes.Claims
}

// New returns Claims.
func New(streams *streams.Streams, hashes *hashes.Claims) *Claims {
	return &Claims{streams: streams, hashes: hashes}
}

// Found is a link and the position of its last event. If the link has no id, no link was found.
type Found struct {
	URL      domain.Link
	Position eventstore.Position
}

// Under returns the account's link with a taken hash if that link leads to the long URL. Otherwise
// it returns hashes.ErrTaken. If that link is still being created or was deleted meanwhile, Under
// waits a moment and returns eventstore.ErrWrongRevision, so that the command is tried again.
func (c *Claims) Under(
	ctx context.Context, r domain.Request, hash, longURL string,
) (Found, error) {
	claims, err := c.streams.Load(ctx, events.StreamHash+hash)
	if err != nil {
		return Found{}, hashes.OrTaken(err)
	}
	claim := hashes.Fold(hash, claims.Events)
	if claim.Account != r.Account {
		return Found{}, hashes.ErrTaken
	}
	loaded, err := c.hashes.LoadLink(ctx, hash, claims, claim.URLID)
	if err != nil {
		return Found{}, hashes.OrTaken(err)
	}
	url := domain.FoldLink(loaded.Events)
	switch {
	case url.Live() && url.Hash == hash && url.LongURL == longURL:
		return Found{URL: url, Position: loaded.Position()}, nil
	case url.Live() && url.Hash == hash,
		events.IsOver(claim.At, c.streams.Now(), CreationTimeout) && !url.Deleted:
		return Found{}, hashes.ErrTaken
	}
	if err := waitForCreation(ctx); err != nil {
		return Found{}, err
	}
	return Found{}, eventstore.ErrWrongRevision
}

// Claim returns the account's link to a long URL. If there is none, it calls reserve, claims the
// long URL for the link with the id, and returns no link. Then the caller MUST create that link,
// and use the same id if it tries again. known are ids of links that lead to the long URL according
// to the read model. The read model may be behind, so the streams of these links are checked.
func (c *Claims) Claim(
	ctx context.Context, r domain.Request, id, longURL string, known []string,
	reserve func() error,
) (Found, error) {
	sum := sha256.Sum256([]byte(longURL))
	stream := events.StreamLongURL + r.Account + "-" + hex.EncodeToString(sum[:])
	r.Command = uuid.NewSHA1(r.Command, []byte(id)) // a claim for another link is no repeat
	for {
		claims, err := c.streams.LoadToAppend(ctx, stream)
		if err != nil {
			return Found{}, err
		}
		claim := lastClaim(claims.Events)
		if claim.URLID == id {
			return Found{}, nil
		}
		if claim.URLID != "" {
			found, free, err := c.holder(ctx, r, claim)
			if err != nil || found.URL.ID != "" {
				return found, err
			}
			if !free {
				if err := waitForCreation(ctx); err != nil {
					return Found{}, err
				}
				continue
			}
		}
		if found, err := c.firstLinkTo(ctx, r, longURL, known); err != nil ||
			found.URL.ID != "" {
			return found, err
		}
		if err := reserve(); err != nil {
			return Found{}, err
		}
		_, err = c.streams.Append(ctx, r, stream, claims.Revision(),
			events.LongURLClaimed{
				LongURL: longURL, URLID: id, Account: r.Account, At: c.streams.Now(),
			})
		if !errors.Is(err, eventstore.ErrWrongRevision) {
			return Found{}, err
		}
	}
}

func lastClaim(claims []events.Event) events.LongURLClaimed {
	for _, e := range claims[max(0, len(claims)-1):] {
		if claim, ok := e.(events.LongURLClaimed); ok {
			return claim
		}
	}
	return events.LongURLClaimed{}
}

// holder returns the link that claimed a long URL, if it leads there. free is true if the link
// leads elsewhere, is deleted, or was not created in time. In the last case, holder first appends
// an event to the link's stream, so that a late creation fails. If there is no link and free is
// false, the link may still be created, and the caller tries again.
func (c *Claims) holder(
	ctx context.Context, r domain.Request, claim events.LongURLClaimed,
) (found Found, free bool, err error) {
	stream := events.LinkStream(claim.URLID)
	loaded, err := c.streams.Load(ctx, stream)
	if isGone(loaded) {
		return Found{}, true, nil
	}
	if err != nil {
		return Found{}, false, err
	}
	url := domain.FoldLink(loaded.Events)
	switch {
	case url.Live() && url.LongURL == claim.LongURL && url.Account == claim.Account:
		return Found{URL: url, Position: loaded.Position()}, false, nil
	case len(loaded.Events) > 0:
		return Found{}, true, nil
	case !events.IsOver(claim.At, c.streams.Now(), CreationTimeout):
		return Found{}, false, nil
	}
	_, err = c.streams.Append(
		ctx, r, stream, eventstore.NoStream, events.CreationAbandoned{At: c.streams.Now()},
	)
	// The link was created, or another node abandoned it.
	if errors.Is(err, eventstore.ErrWrongRevision) {
		return Found{}, false, nil
	}
	return Found{}, err == nil, err
}

// isGone reports whether a link is deleted according to the events after the last event that cannot
// be decoded.
func isGone(loaded streams.History) bool { return domain.FoldLink(loaded.Last()).Deleted }

// firstLinkTo returns the first of the links that belongs to the account and leads to the long
// URL.
func (c *Claims) firstLinkTo(
	ctx context.Context, r domain.Request, longURL string, ids []string,
) (Found, error) {
	for _, id := range ids {
		loaded, err := c.streams.Load(ctx, events.LinkStream(id))
		if isGone(loaded) {
			continue
		}
		if err != nil {
			return Found{}, err
		}
		if url := domain.FoldLink(loaded.Events); url.Live() && url.Account == r.Account &&
			url.LongURL == longURL {
			return Found{URL: url, Position: loaded.Position()}, nil
		}
	}
	return Found{}, nil
}

// waitForCreation waits for creationPoll, so that a concurrent creation can proceed.
func waitForCreation(ctx context.Context) error {
	timer := time.NewTimer(creationPoll)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for a link that is being created: %w", ctx.Err())
	}
}
