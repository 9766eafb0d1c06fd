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
	queueRetryAfter = 10 * time.Second
)

// queues runs the operations of each account one at a time on this node. If they ran concurrently,
// they would take the event store and the projections away from the calls of other accounts. It is
// safe for concurrent use.
type queues struct {
	mu       sync.Mutex
	accounts map[uuid.UUID]*queue // by account, only of accounts with operations
}

// queue has the operations of one account.
type queue struct {
	running chan struct{} // has capacity 1; full while an operation runs
	length  int           // operations that run or wait
}

func newQueues() *queues { return &queues{accounts: make(map[uuid.UUID]*queue)} }

// acquire waits until the account has no other operation before the caller's. The caller MUST call
// end. It fails if too many operations wait, if the client disconnects, or if ctx ends.
func (qs *queues) acquire(
	ctx context.Context, account uuid.UUID, left <-chan struct{},
) (end func(), err error) {
	qs.mu.Lock()
	q, ok := qs.accounts[account]
	if !ok {
		q = &queue{running: make(chan struct{}, 1)}
		qs.accounts[account] = q
	}
	if q.length > maxWaiting {
		qs.mu.Unlock()
		return nil, &apierror.Error{
			Code: apierror.CodeCallLimit, RetryAfter: queueRetryAfter,
			Details: "Too many changes by tags and undone batches of this account wait for their " +
				"turn, repeat the call when some are done",
		}
	}
	q.length++
	qs.mu.Unlock()
	leave := func() {
		qs.mu.Lock()
		defer qs.mu.Unlock()
		if q.length--; q.length == 0 {
			delete(qs.accounts, account)
		}
	}
	select {
	case q.running <- struct{}{}:
		return func() { <-q.running; leave() }, nil
	case <-left:
		err = request.ErrDisconnected
	case <-ctx.Done():
		err = ctx.Err()
	}
	leave()
	return nil, err
}

// length returns how many operations of an account run or wait.
func (qs *queues) length(account uuid.UUID) int {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if q, ok := qs.accounts[account]; ok {
		return q.length
	}
	return 0
}
