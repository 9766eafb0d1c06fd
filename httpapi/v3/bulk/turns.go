package bulk

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/request"
)

const (
	// maxWaiting is how many operations of one account wait for their turn on a node.
	maxWaiting = 16
	// turnRetryAfter is told to those beyond.
	turnRetryAfter = 10 * time.Second
)

// turns has the operations of an account that change any number of links carried out one after the
// other, on this node. Together they would take the event store and the projections away from the
// calls of others. It is safe for concurrent use.
type turns struct {
	mu     sync.Mutex
	queues map[uuid.UUID]*turnQueue // of accounts with an operation under way
}

type turnQueue struct {
	turn chan struct{} // holds a token while an operation is under way
	n    int           // under way or waiting
}

func newTurns() *turns { return &turns{queues: make(map[uuid.UUID]*turnQueue)} }

// take returns when it is the caller's turn, who calls end when done. It fails where too many wait,
// when the client has left, and when ctx ends.
func (t *turns) take(
	ctx context.Context, account uuid.UUID, left <-chan struct{},
) (end func(), err error) {
	t.mu.Lock()
	q, ok := t.queues[account]
	if !ok {
		q = &turnQueue{turn: make(chan struct{}, 1)}
		t.queues[account] = q
	}
	if q.n > maxWaiting {
		t.mu.Unlock()
		return nil, &apierror.Error{
			Code: apierror.CodeCallLimit, RetryAfter: turnRetryAfter,
			Details: "Too many changes by tags and undone batches of this account wait for their " +
				"turn, repeat the call when some are done",
		}
	}
	q.n++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if q.n--; q.n == 0 {
			delete(t.queues, account)
		}
	}
	select {
	case q.turn <- struct{}{}:
		return func() { <-q.turn; leave() }, nil
	case <-left:
		err = request.ErrClientLeft
	case <-ctx.Done():
		err = ctx.Err()
	}
	leave()
	return nil, err
}

// of returns how many operations of an account are under way or wait.
func (t *turns) of(account uuid.UUID) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q, ok := t.queues[account]; ok {
		return q.n
	}
	return 0
}
