package redirect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/answered"
	"linkledger/httpapi/apierror"
	"linkledger/queries"
	"linkledger/queries/cache"
)

// Levels compares the read models with the log. Links returns the commit position of the last event
// about links that the log had when the call began, and Accounts that of the last event about
// accounts. If the checkpoint at is later, they return at.
type Levels struct {
	Links, Accounts func(ctx context.Context, at queries.Checkpoint) (queries.Checkpoint, error)
	// Misplaced reports whether the read models have events that the log does not have. It MUST be
	// quick, because each visit calls it.
	Misplaced func() bool
}

// confirmTimeout bounds a confirmation. If the confirmation has no result by then, the visitor gets
// status 503. confirmTimeout and the time that the cache waits for the database are together less
// than 3 s, after which a proxy gives up the visit.
const confirmTimeout = 2500 * time.Millisecond

// confirmations look up a link in the log and the read models. This is needed before a visitor is
// denied a link, and while the database cannot be queried. The call that created a link may have
// succeeded although the read models lack the link yet.
//
// Visitors of one hash share a confirmation. Each visitor gets a confirmation that began after the
// visitor came, because a link may be created after an earlier confirmation began. Visitors who
// come while a confirmation runs share the next one.
type confirmations struct {
	cache  *cache.Redirects
	links  *answered.Links
	levels Levels

	mu sync.Mutex
	of map[string]*confirmation // by key
}

// confirmation is one look-up of a link in the log and the read models. Visitors wait for done.
type confirmation struct {
	done chan struct{} // closed when the rest is valid
	link queries.Redirect
	err  error

	next *confirmation // for visitors who came after this one began; nil: none came
}

// find returns the link of a hash from the log and the read models together. It fails like
// DB.Redirect. usable reports whether visitors may follow a link. Calls with the same key share
// their confirmations.
func (f *confirmations) find(
	ctx context.Context, key, hash string, usable func(queries.Redirect) bool,
) (queries.Redirect, error) {
	joined := f.join(ctx, key, hash, usable)
	select {
	case <-joined.done:
		return joined.link, joined.err
	case <-ctx.Done():
		return queries.Redirect{}, ctx.Err()
	}
}

// join returns a confirmation that begins after the call.
func (f *confirmations) join(
	ctx context.Context, key, hash string, usable func(queries.Redirect) bool,
) *confirmation {
	f.mu.Lock()
	defer f.mu.Unlock()
	running, ok := f.of[key]
	if ok {
		if running.next == nil {
			running.next = &confirmation{done: make(chan struct{})}
		}
		return running.next
	}
	// Without the copies, the map would keep the whole request in memory.
	key, hash = strings.Clone(key), strings.Clone(hash)
	begun := &confirmation{done: make(chan struct{})}
	f.of[key] = begun
	go f.run(context.WithoutCancel(ctx), key, begun, func(
		ctx context.Context, c *confirmation,
	) {
		f.confirm(ctx, hash, c, usable)
	})
	return begun
}

// run runs a confirmation, and then the confirmations that follow it.
func (f *confirmations) run(
	ctx context.Context, key string, c *confirmation,
	confirm func(context.Context, *confirmation),
) {
	for c != nil {
		confirm(ctx, c)
		close(c.done)
		f.mu.Lock()
		if c = c.next; c != nil {
			f.of[key] = c
		} else {
			delete(f.of, key)
		}
		f.mu.Unlock()
	}
}

func (f *confirmations) confirm(
	ctx context.Context, hash string, c *confirmation, usable func(queries.Redirect) bool,
) {
	ctx, cancel := context.WithTimeout(ctx, confirmTimeout)
	defer cancel()
	shown, err := f.shown(ctx, hash)
	known := err == nil || errors.Is(err, queries.ErrNotFound)
	if known && !f.levels.Misplaced() {
		if err == nil && usable(shown) { // the read model has it by now
			c.link = shown
			return
		}
		if shown, err = f.level(ctx, hash, shown, err, usable); !errors.Is(err, errBehind) {
			c.link, c.err = shown, err
			return
		}
	}
	c.link, c.err = f.fromLog(ctx, hash, shown)
}

// databasePatience is how long a confirmation waits for the database. The wait is short, because
// the log has the link too.
const databasePatience = 300 * time.Millisecond

// shown returns the redirect that the read models show.
func (f *confirmations) shown(ctx context.Context, hash string) (queries.Redirect, error) {
	if f.cache.Away() {
		return queries.Redirect{}, errBehind
	}
	ctx, cancel := context.WithTimeout(ctx, databasePatience)
	defer cancel()
	return f.cache.Find(ctx, hash)
}

// errBehind means that the read models are not known to have all events of a link.
var errBehind = errors.New("the read models are behind the log")

// level returns what the read models show of a hash, if they have everything that the log had when
// the call began, or if visitors may follow the link that they show. Otherwise it fails with
// errBehind. shown and shownErr are the result of an earlier look-up of the hash.
func (f *confirmations) level(
	ctx context.Context, hash string, shown queries.Redirect, shownErr error,
	usable func(queries.Redirect) bool,
) (queries.Redirect, error) {
	links, err := f.levels.Links(ctx, shown.Links)
	if err != nil {
		return shown, errBehind
	}
	accounts := shown.Accounts
	if shownErr == nil { // the state of the account may deny the link
		if accounts, err = f.levels.Accounts(ctx, shown.Accounts); err != nil {
			return shown, errBehind
		}
	}
	has := func(r queries.Redirect) bool {
		return !links.After(r.Links) && !accounts.After(r.Accounts)
	}
	if has(shown) {
		return shown, shownErr
	}
	// shown may come from the cache, and be older than the read models.
	ctx, cancel := context.WithTimeout(ctx, databasePatience)
	defer cancel()
	now, err := f.cache.Refresh(ctx, hash)
	switch {
	case err != nil && !errors.Is(err, queries.ErrNotFound):
		return shown, errBehind
	case err == nil && usable(now), has(now):
		return now, err
	}
	return now, errBehind
}

// fromLog returns the link that the log has. It fails with ErrNotFound only if the log has none.
func (f *confirmations) fromLog(
	ctx context.Context, hash string, shown queries.Redirect,
) (queries.Redirect, error) {
	link, err := f.links.Find(ctx, hash)
	if errors.Is(err, answered.ErrNone) {
		return queries.Redirect{}, fmt.Errorf("redirect: %w", queries.ErrNotFound)
	}
	if err != nil {
		return queries.Redirect{}, fmt.Errorf("redirect from the log: %w", err)
	}
	id, err := uuid.Parse(link.ID)
	if err != nil {
		id = shown.URLID // another program made the link: this one gives UUIDs only
	}
	found := queries.Redirect{
		URLID: id, LongURL: link.LongURL, ExpirationDate: link.ExpirationDate,
		MaxClicks: link.MaxClicks, Deleted: link.Deleted,
		OwnerActive:  link.Owner.ID == "" || link.Owner.Active,
		OwnerExpires: link.Owner.ExpirationDate,
	}
	if found.Owner, err = uuid.Parse(link.Account); err != nil {
		return queries.Redirect{}, fmt.Errorf("redirect from the log: %w", err)
	}
	if shown.URLID == found.URLID {
		found.TotalClicks = shown.TotalClicks
	}
	return found, nil
}

// late returns the error for a visitor whose link could not be looked up because of an outage, or
// because too many unknown links are being looked up.
func late(err error) error {
	if errors.Is(err, answered.ErrBusy) {
		return apierror.Late("Too many unknown short links are asked for: repeat the call later")
	}
	return apierror.Unavailable(err)
}
