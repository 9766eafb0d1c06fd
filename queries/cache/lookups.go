package cache

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/google/uuid"

	"linkledger/queries"
	"linkledger/queries/accountlist"
)

const (
	// maxUsername bounds the length of a user name, in bytes. All accounts have shorter names.
	maxUsername = 255
	// maxBatch bounds the user names of one query.
	maxBatch = 500
)

// lookups reads logins by user name, with one query at a time. It is safe for concurrent use.
type lookups struct {
	// find returns a login for each user name, without an id if there is no such account.
	find func(ctx context.Context, usernames []string) ([]accountlist.Login, error)

	mu      sync.Mutex
	running bool
	queue   []*lookupBatch // of queries not sent yet; all but the last are full
}

// lookupBatch is one query for the user names that arrived while the previous query ran.
type lookupBatch struct {
	names map[string]accountlist.Login // by user name; without an id if unknown
	done  chan struct{}                // closed when the logins or err are valid
	err   error
}

// lookUp returns the login of a user name, or queries.ErrNotFound. The query continues after ctx
// ends, because other callers may wait for it.
func (l *lookups) lookUp(ctx context.Context, username string) (accountlist.Login, error) {
	if len(username) > maxUsername || !queries.Storable(username) {
		return accountlist.Login{}, fmt.Errorf("login: %w", queries.ErrNotFound)
	}
	q := l.enqueue(ctx, username)
	select {
	case <-q.done:
	case <-ctx.Done():
		return accountlist.Login{}, fmt.Errorf("login: %w", ctx.Err())
	}
	login := q.names[username]
	switch {
	case q.err != nil:
		return accountlist.Login{}, fmt.Errorf("login: %w", q.err)
	case login.ID == uuid.Nil:
		return accountlist.Login{}, fmt.Errorf("login: %w", queries.ErrNotFound)
	}
	return login, nil
}

// enqueue adds a user name to the last batch of the queue, and starts to send the queue.
func (l *lookups) enqueue(ctx context.Context, username string) *lookupBatch {
	username = strings.Clone(username) // it is often a part of a header, which would stay in memory
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.queue); n == 0 || len(l.queue[n-1].names) == maxBatch {
		next := &lookupBatch{
			names: make(map[string]accountlist.Login), done: make(chan struct{}),
		}
		l.queue = append(l.queue, next)
	}
	q := l.queue[len(l.queue)-1]
	q.names[username] = accountlist.Login{}
	if !l.running {
		l.running = true
		go l.drain(context.WithoutCancel(ctx))
	}
	return q
}

// drain sends the batches of the queue until it is empty.
func (l *lookups) drain(ctx context.Context) {
	for {
		l.mu.Lock()
		if len(l.queue) == 0 {
			l.running, l.queue = false, nil
			l.mu.Unlock()
			return
		}
		q := l.queue[0]
		l.queue = l.queue[1:]
		l.mu.Unlock()
		l.send(ctx, q)
	}
}

func (l *lookups) send(ctx context.Context, q *lookupBatch) {
	defer close(q.done)
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	names := make([]string, 0, len(q.names))
	for name := range q.names {
		names = append(names, name)
	}
	logins, err := l.find(ctx, names)
	if err != nil {
		q.err = fmt.Errorf("%d together: %w", len(names), err)
		return
	}
	for _, login := range logins {
		q.names[login.Username] = login
	}
}
