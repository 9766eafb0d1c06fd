package cache

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/google/uuid"

	"linkledger/queries"
)

const (
	// maxUsername is more than any user name has, in bytes.
	maxUsername = 255
	// maxTogether is how many user names one question has at most.
	maxTogether = 500
)

// lookups asks for accounts, one question at a time. It is safe for concurrent use.
type lookups struct {
	// those that there are
	find func(ctx context.Context, usernames []string) ([]queries.Account, error)

	mu     sync.Mutex
	asking bool
	queue  []*question // that nobody has asked yet, each full but the last
}

// question is about the user names that came while the one before was under way.
type question struct {
	names map[string]queries.Account // by user name; without id: unknown
	done  chan struct{}              // closed when the accounts or err are valid
	err   error
}

// ask returns the account of a user name, or queries.ErrNotFound. A question goes on when the
// caller leaves: others may wait for it.
func (l *lookups) ask(ctx context.Context, username string) (queries.Account, error) {
	if len(username) > maxUsername || !queries.Storable(username) {
		return queries.Account{}, fmt.Errorf("account by user name: %w", queries.ErrNotFound)
	}
	q := l.join(ctx, username)
	select {
	case <-q.done:
	case <-ctx.Done():
		return queries.Account{}, fmt.Errorf("account by user name: %w", ctx.Err())
	}
	account := q.names[username]
	switch {
	case q.err != nil:
		return queries.Account{}, fmt.Errorf("account by user name: %w", q.err)
	case account.ID == uuid.Nil:
		return queries.Account{}, fmt.Errorf("account by user name: %w", queries.ErrNotFound)
	}
	return account, nil
}

// join adds a user name to the last question of the queue, and has the queue asked.
func (l *lookups) join(ctx context.Context, username string) *question {
	username = strings.Clone(username) // often part of a whole header, which would be kept with it
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.queue); n == 0 || len(l.queue[n-1].names) == maxTogether {
		l.queue = append(
			l.queue, &question{names: make(map[string]queries.Account), done: make(chan struct{})},
		)
	}
	q := l.queue[len(l.queue)-1]
	q.names[username] = queries.Account{}
	if !l.asking {
		l.asking = true
		go l.run(context.WithoutCancel(ctx))
	}
	return q
}

// run asks the queue until it is empty.
func (l *lookups) run(ctx context.Context) {
	for {
		l.mu.Lock()
		if len(l.queue) == 0 {
			l.asking, l.queue = false, nil
			l.mu.Unlock()
			return
		}
		q := l.queue[0]
		l.queue = l.queue[1:]
		l.mu.Unlock()
		l.answer(ctx, q)
	}
}

func (l *lookups) answer(ctx context.Context, q *question) {
	defer close(q.done)
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	names := make([]string, 0, len(q.names))
	for name := range q.names {
		names = append(names, name)
	}
	accounts, err := l.find(ctx, names)
	if err != nil {
		q.err = fmt.Errorf("%d together: %w", len(names), err)
		return
	}
	for _, account := range accounts {
		q.names[account.Username] = account
	}
}
