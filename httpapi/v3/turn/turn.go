// Package turn runs heavy operations one or a few at a time for each account on a node, so that the
// operations of one account do not hold up the calls of other accounts.
package turn

import (
	"context"
	"errors"
	"sync"

	"github.com/google/uuid"

	"linkledger/httpapi/apierror"
)

// Queues has the operations of each account. It is safe for concurrent use.
type Queues struct {
	atOnce  int
	waiting int
	tooMany error

	mu       sync.Mutex
	accounts map[uuid.UUID]*queue // by account, only of accounts with operations
}

// queue has the operations of one account.
type queue struct {
	running chan struct{} // has a token of each operation that runs
	length  int           // operations that run or wait
}

// New returns queues. atOnce is how many operations of one account run at the same time at most,
// and waiting is how many more may wait for their turn. tooMany is the error of operations beyond
// these, and of operations whose turn does not come in time.
func New(atOnce, waiting int, tooMany error) *Queues {
	return &Queues{
		atOnce: atOnce, waiting: waiting, tooMany: tooMany, accounts: make(map[uuid.UUID]*queue),
	}
}

// Acquire waits until the caller's operation may run. If it returns no error, the caller MUST call
// end after the operation. It fails if too many operations wait, if left is closed because the
// client has disconnected, or if ctx ends.
func (qs *Queues) Acquire(
	ctx context.Context, account uuid.UUID, left <-chan struct{},
) (end func(), err error) {
	qs.mu.Lock()
	q, ok := qs.accounts[account]
	if !ok {
		q = &queue{running: make(chan struct{}, qs.atOnce)}
		qs.accounts[account] = q
	}
	if q.length >= qs.atOnce+qs.waiting {
		qs.mu.Unlock()
		return nil, qs.tooMany
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
	if ctx.Err() != nil {
		leave()
		return nil, qs.late(ctx)
	}
	select {
	case q.running <- struct{}{}:
		return func() { <-q.running; leave() }, nil
	case <-left:
		err = apierror.ErrClientLeft
	case <-ctx.Done():
		err = qs.late(ctx)
	}
	leave()
	return nil, err
}

// late returns the error of a call whose context has ended before its turn. If the deadline of the
// context has passed, the reason is the other operations of the account and not an outage, so the
// error is tooMany.
func (qs *Queues) late(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return qs.tooMany
	}
	return ctx.Err()
}

// Length returns how many operations of an account run or wait.
func (qs *Queues) Length(account uuid.UUID) int {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if q, ok := qs.accounts[account]; ok {
		return q.length
	}
	return 0
}
