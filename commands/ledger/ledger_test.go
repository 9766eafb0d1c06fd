package ledger

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"linkledger/commands/commandstest"
	"linkledger/events/eventstore"
)

type number struct {
	Reply

	n      int
	rounds int
}

// TestLedger checks that concurrent requests about a counter are served one round at a time and in
// their order, and that each is served until it has an answer.
func TestLedger(t *testing.T) {
	t.Parallel()
	var running, rounds, conflicts atomic.Int32
	last := 0
	l := New(time.Minute, func(string) Serve[*number] {
		return func(_ context.Context, requests []*number) error {
			defer running.Add(-1)
			if running.Add(1) > 1 {
				t.Error("two rounds of a counter overlap")
			}
			if rounds.Add(1)%3 == 0 {
				conflicts.Add(1)
				return eventstore.ErrWrongRevision
			}
			for _, r := range requests {
				switch r.rounds++; {
				case r.rounds < 1+r.n%3:
					continue
				case r.n%3 == 0 && r.n < last:
					t.Errorf("%d is answered after %d", r.n, last)
				case r.n%3 == 0:
					last = r.n
				}
				r.Answer(nil)
			}
			return nil
		}
	})
	asked := make([]*number, 300)
	for i := range asked {
		asked[i] = &number{n: i}
		l.Ask("a", asked[i])
	}
	commandstest.Together(len(asked), func(i int) {
		if err := asked[i].Wait(t.Context()); err != nil || asked[i].rounds != 1+i%3 {
			t.Errorf("request %d: %v after %d rounds", i, err, asked[i].rounds)
		}
	})
	if conflicts.Load() == 0 {
		t.Error("no round was repeated")
	}
}

// TestErrorsOfARound checks that an error answers the requests of its round, that a caller who has
// stopped waiting can wait again, and that a round has a timeout.
func TestErrorsOfARound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(time.Minute, func(string) Serve[*number] {
			return func(ctx context.Context, _ []*number) error {
				<-ctx.Done()
				return ctx.Err()
			}
		})
		r := &number{}
		l.Ask("a", r)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if err := r.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller who stops waiting gets %v", err)
		}
		err := r.Wait(t.Context())
		if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took != time.Minute {
			t.Errorf("a round ends after %v with %v, want a minute", took, err)
		}
	})
}

// TestIdleCounters checks that a node forgets idle counters beyond maxIdle.
func TestIdleCounters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(time.Minute, func(string) Serve[*number] {
			return func(_ context.Context, requests []*number) error {
				requests[0].Answer(nil)
				return nil
			}
		})
		for i := range 2 * maxIdle {
			l.Ask(strconv.Itoa(i), &number{})
		}
		synctest.Wait()
		if len(l.counters) != maxIdle {
			t.Errorf("%d counters are in memory, want %d", len(l.counters), maxIdle)
		}
	})
}
