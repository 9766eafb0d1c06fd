// Package answered finds the link of a hash in the log when the read models cannot answer a visitor
// or an owner. The log has each link whose creation was answered, because the link is appended
// before the answer. The package writes nothing.
package answered

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"linkledger/commands/accounts"
	"linkledger/commands/domain"
	"linkledger/commands/hashes"
	"linkledger/commands/streams"
	"linkledger/events"
)

const (
	// maxLookUps is how many look-ups of a node run at once.
	maxLookUps = 16
	// maxMisses is how many look-ups in a second may find no link that works, so that clients that
	// guess hashes cost the event store little.
	maxMisses = 1000
	// waitTimeout bounds how long a look-up waits for its turn. lookUpTimeout bounds the look-up
	// itself.
	waitTimeout   = time.Second
	lookUpTimeout = 2 * time.Second
	// maxClaimants is how many links that claimed a hash are read, the last claims first.
	maxClaimants = 8
)

var (
	// ErrNone means that the log has no link with the hash.
	ErrNone = errors.New("the log has no link with this hash")
	// ErrBusy means that too many look-ups are running or have found nothing.
	ErrBusy = errors.New("too many hashes are looked up in the log")
)

// Link is a link as the log has it, with the account that it belongs to.
type Link struct {
	domain.Link

	Owner accounts.Account // only of a live link; without an id if the log lacks the account
}

// Links finds links in the log. It is safe for concurrent use.
type Links struct {
	streams *streams.Streams
	slots   chan struct{} // holds one for each look-up that runs
	misses  *rate.Limiter
}

// New returns Links.
func New(streams *streams.Streams) *Links {
	return &Links{
		streams: streams, slots: make(chan struct{}, maxLookUps),
		misses: rate.NewLimiter(maxMisses, maxMisses/10),
	}
}

// Find returns the live link that has the hash, of any account. If there is none, it returns the
// link that had the hash and was deleted last. If there is none of these either, it returns
// ErrNone. After any other error, nothing is known of the hash: ErrBusy, an error of the event
// store, or an *eventstore.DecodeError if an event of the link, of its account or of the claims
// cannot be decoded.
func (l *Links) Find(ctx context.Context, hash string) (Link, error) {
	end, err := l.begin(ctx)
	if err != nil {
		return Link{}, err
	}
	defer end()
	ctx, cancel := context.WithTimeout(ctx, lookUpTimeout)
	defer cancel()
	link, err := l.find(ctx, hash)
	if err != nil || !link.Live() {
		l.misses.Reserve() // counts a miss, for which later look-ups wait
	}
	return link, err
}

// begin waits for the turn of a look-up, or returns ErrBusy. end ends that look-up.
func (l *Links) begin(ctx context.Context) (end func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	select {
	case l.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ErrBusy
	}
	for l.misses.Tokens() < 1 {
		select {
		case <-time.After(time.Second / maxMisses):
		case <-ctx.Done():
			<-l.slots
			return nil, ErrBusy
		}
	}
	return func() { <-l.slots }, nil
}

func (l *Links) find(ctx context.Context, hash string) (Link, error) {
	if !hashes.Valid(hash) {
		return Link{}, ErrNone
	}
	claims, err := l.streams.LoadReadable(ctx, events.StreamHash+hash)
	if err != nil {
		return Link{}, err
	}
	claimants := hashes.LastClaimants(claims.Events, "")
	slices.Reverse(claimants)
	deleted, found := domain.Link{}, false
	for _, id := range claimants[:min(len(claimants), maxClaimants)] {
		loaded := claims
		if stream := events.LinkStream(id); stream != events.StreamHash+hash {
			if loaded, err = l.streams.LoadReadable(ctx, stream); err != nil {
				return Link{}, err
			}
		}
		link := domain.FoldLink(loaded.Events)
		if err := loaded.Err(); err != nil && link.Hash == hash {
			return Link{}, err
		}
		switch {
		case link.Hash != hash || link.ID == "":
		case link.Live():
			return l.withOwner(ctx, link)
		case !found || link.ModifiedAt.After(deleted.ModifiedAt):
			deleted, found = link, true
		}
	}
	if !found {
		// A claim that cannot be decoded may belong to a link.
		if err := claims.Err(); err != nil {
			return Link{}, err
		}
		return Link{}, ErrNone
	}
	return Link{Link: deleted}, nil
}

// withOwner adds the account of a link.
func (l *Links) withOwner(ctx context.Context, link domain.Link) (Link, error) {
	owner, err := accounts.LoadSealed(ctx, l.streams, link.Account)
	if err != nil {
		return Link{}, fmt.Errorf("account of the link: %w", err)
	}
	return Link{Link: link, Owner: owner}, nil
}
