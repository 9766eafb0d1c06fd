package commands

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/domain"
	"linkledger/commands/hashes"
	"linkledger/commands/linkquota"
	"linkledger/events"
	"linkledger/events/eventstore"
)

const (
	// creationTimeout is how long a command waits for a concurrent creation of the link that it
	// could return. A shorter wait is safe: the late creation fails and returns the link that took
	// its place.
	creationTimeout = 2 * time.Second
	// creationPoll is the interval of looking for that link. MaxAttempts intervals MUST be longer
	// than creationTimeout.
	creationPoll = 25 * time.Millisecond
)

// createdLinks has the links that the items of one batch created or found so far, by long URL.
type createdLinks struct {
	mu  sync.Mutex
	ids map[string][]string
}

func (m *createdLinks) add(outcome URLOutcome) {
	if outcome.Err != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ids == nil {
		m.ids = make(map[string][]string)
	}
	m.ids[outcome.URL.LongURL] = append(m.ids[outcome.URL.LongURL], outcome.URL.ID)
}

func (m *createdLinks) leadingTo(longURL string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ids[longURL]
}

// tryCreateUniqueURL returns the account's link to the long URL, or creates it. With a custom hash
// it creates a link if the hash is free, and otherwise returns the link that has the hash if that
// link leads to the same long URL.
func (h *Handler) tryCreateUniqueURL(
	ctx context.Context, r domain.Request, item CreateURL, tags domain.Tags,
	reservation *linkquota.Reservation,
) (URLOutcome, error) {
	load := h.streams.LoadToAppend // the stream is new, unless the command is a repeat
	if r.Repeated {
		load = h.streams.Load
	}
	// All attempts use one id, because the first attempt claims the long URL for it.
	link, earlier, err := h.derivedURL(ctx, r, item.CustomHash, load)
	if err != nil || earlier.URL.ID != "" {
		return earlier, err
	}
	if item.CustomHash != "" {
		created, err := h.create(ctx, r, link, item, tags, reservation)
		if errors.Is(err, hashes.ErrTaken) {
			return h.linkUnder(ctx, r, item.CustomHash, item.LongURL)
		}
		if linkquota.IsRefused(err) || err != nil && hashes.Reserved(item.CustomHash) {
			if found, missing := h.linkUnder(
				ctx, r, item.CustomHash, item.LongURL,
			); missing == nil {
				return found, nil
			}
		}
		return created, err
	}
	found, err := h.claimLongURL(ctx, r, link.id, item, reservation)
	if err != nil || found.URL.ID != "" {
		return found, err
	}
	return h.create(ctx, r, link, item, tags, reservation)
}

// linkUnder returns the account's link that has a taken hash, if it leads to the long URL. It
// returns ErrWrongRevision while that link is being created, and if it was deleted meanwhile.
func (h *Handler) linkUnder(
	ctx context.Context, r domain.Request, hash, longURL string,
) (URLOutcome, error) {
	claims, err := h.streams.Load(ctx, events.StreamHash+hash)
	if err != nil {
		return URLOutcome{}, err
	}
	claim := hashes.Fold(hash, claims.Events)
	if claim.Account != r.Account {
		return URLOutcome{}, hashes.ErrTaken
	}
	loaded, err := h.hashes.LoadLink(ctx, hash, claims, claim.URLID)
	if err != nil {
		return URLOutcome{}, err
	}
	url := domain.FoldLink(loaded.Events)
	switch {
	case url.Live() && url.Hash == hash && url.LongURL == longURL:
		return URLOutcome{URL: url, Position: loaded.Position()}, nil
	case url.Live() && url.Hash == hash, h.streams.Now().Sub(claim.At) > creationTimeout &&
		!url.Deleted:
		return URLOutcome{}, hashes.ErrTaken
	}
	if err := waitForCreation(ctx); err != nil {
		return URLOutcome{}, err
	}
	return URLOutcome{}, eventstore.ErrWrongRevision
}

// claimLongURL returns the account's link to the long URL. If there is none, it reserves the new
// link, claims the long URL for it, and returns an empty outcome.
func (h *Handler) claimLongURL(
	ctx context.Context, r domain.Request, id string, item CreateURL,
	reservation *linkquota.Reservation,
) (URLOutcome, error) {
	sum := sha256.Sum256([]byte(item.LongURL))
	stream := events.StreamLongURL + r.Account + "-" + hex.EncodeToString(sum[:])
	r.Command = uuid.NewSHA1(r.Command, []byte(id)) // for another link, it is another claim
	for {
		claims, err := h.streams.LoadToAppend(ctx, stream)
		if err != nil {
			return URLOutcome{}, err
		}
		claim := lastClaim(claims.Events)
		if claim.URLID == id {
			return URLOutcome{}, nil
		}
		if claim.URLID != "" {
			found, free, err := h.holderOfLongURL(ctx, r, claim)
			if err != nil || found.URL.ID != "" {
				return found, err
			}
			if !free {
				if err := waitForCreation(ctx); err != nil {
					return URLOutcome{}, err
				}
				continue
			}
		}
		if found, err := h.firstLinkTo(ctx, r, item.LongURL, item.Known); err != nil ||
			found.URL.ID != "" {
			return found, err
		}
		if _, err := reservation.Take(ctx, id, h.streams.Now()); err != nil {
			return URLOutcome{}, err
		}
		_, err = h.streams.Append(ctx, r, stream, claims.Revision(),
			events.LongURLClaimed{
				LongURL: item.LongURL, URLID: id, Account: r.Account, At: h.streams.Now(),
			})
		if !errors.Is(err, eventstore.ErrWrongRevision) {
			return URLOutcome{}, err
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

// holderOfLongURL returns the link that claimed a long URL, or whether the long URL is free because
// that link leads elsewhere, is deleted, or was never created. In the last case an event in the
// link's stream first makes a late creation fail.
func (h *Handler) holderOfLongURL(
	ctx context.Context, r domain.Request, claim events.LongURLClaimed,
) (found URLOutcome, free bool, err error) {
	stream := events.LinkStream(claim.URLID)
	loaded, err := h.streams.Load(ctx, stream)
	if err != nil {
		return URLOutcome{}, false, err
	}
	url := domain.FoldLink(loaded.Events)
	switch {
	case url.Live() && url.LongURL == claim.LongURL && url.Account == claim.Account:
		return URLOutcome{URL: url, Position: loaded.Position()}, false, nil
	case len(loaded.Events) > 0:
		return URLOutcome{}, true, nil
	case h.streams.Now().Sub(claim.At) <= creationTimeout:
		return URLOutcome{}, false, nil
	}
	_, err = h.streams.Append(
		ctx, r, stream, eventstore.NoStream, events.CreationAbandoned{At: h.streams.Now()},
	)
	// the link was created, or another node abandoned it
	if errors.Is(err, eventstore.ErrWrongRevision) {
		return URLOutcome{}, false, nil
	}
	return URLOutcome{}, err == nil, err
}

// firstLinkTo returns the first of the links that belongs to the account and leads to the long
// URL.
func (h *Handler) firstLinkTo(
	ctx context.Context, r domain.Request, longURL string, ids []string,
) (URLOutcome, error) {
	for _, id := range ids {
		loaded, err := h.streams.Load(ctx, events.LinkStream(id))
		if err != nil {
			return URLOutcome{}, err
		}
		if url := domain.FoldLink(loaded.Events); url.Live() && url.Account == r.Account &&
			url.LongURL == longURL {
			return URLOutcome{URL: url, Position: loaded.Position()}, nil
		}
	}
	return URLOutcome{}, nil
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
