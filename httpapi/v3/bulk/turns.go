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
	// maxWaiting is the most operations of one account that wait on a node.
	maxWaiting = 16
	// queueRetryAfter is the Retry-After of operations that are refused because too many wait.
	turnRetryAfter = 10 * time.Second
)

// queues runs the operations of each account one at a time on this node. If they ran concurrently, they
// would take the event store and the projections away from the calls of other accounts. It is safe for
// concurrent use.
type turns struct {
	mu     sync.Mutex
	queues map[uuid.UUID]*turnQueue // by account, only of accounts with operations
}

// queue has the operations of one account.
type turnQueue struct {
	turn chan struct{} // has capacity 1; full while an operation runs
	n    int           // operations that run or wait
}

func newTurns() *turns { return &turns{queues: make(map[uuid.UUID]*turnQueue)} }

// acquire waits until the account has no other operation before the caller's. The caller MUST call end.
// It fails if too many operations wait, if the client disconnects, or if ctx ends.
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

// length returns how many operations of an account run or wait.
func (t *turns) of(account uuid.UUID) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q, ok := t.queues[account]; ok {
		return q.n
	}
	return 0
}
