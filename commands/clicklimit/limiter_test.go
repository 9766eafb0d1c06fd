package clicklimit

import (
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"linkledger/commands"
	"linkledger/commands/commandstest"
	"linkledger/events/eventstore/eventstoretest"
)

// TestLimitIsExactOverNodes checks that two nodes share the last clicks of a link exactly.
func TestLimitIsExactOverNodes(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	store := eventstoretest.Open(t, server.URL())
	nodes := []*Limiter{New(store, nil), New(eventstoretest.Open(t, server.URL()), nil)}
	for limit := range int64(120) {
		if limit%17 != 0 {
			continue
		}
		link := uuid.NewString()
		var granted atomic.Int64
		commandstest.Together(200, func(i int) {
			ok, err := nodes[i%2].Take(t.Context(), link, limit+1, 0)
			if err != nil {
				t.Error(err)
			}
			if ok {
				granted.Add(1)
			}
		})
		if want := min(limit+1, 200); granted.Load() != want {
			t.Errorf("%d visitors were let through, want %d", granted.Load(), want)
		}
		for _, node := range nodes {
			if left, err := node.Left(t.Context(), link, limit+1, 0); left || err != nil {
				t.Errorf("clicks are left: %v, %v", left, err)
			}
			if left, err := node.Left(t.Context(), link, limit+2, 0); !left || err != nil {
				t.Errorf("a higher limit leaves none: %v, %v", left, err)
			}
		}
	}
}

// TestLimitCountsEarlierClicks checks that clicks from before the limit count towards it, and that
// a restarted node continues from the clicks that other nodes have used.
func TestLimitCountsEarlierClicks(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	store := eventstoretest.Open(t, server.URL())
	link := uuid.NewString()
	take := func(limit, counted int64, want bool) {
		t.Helper()
		got, err := New(store, nil).Take(t.Context(), link, limit, counted)
		if err != nil || got != want {
			t.Errorf("take of %d with %d counted: %v, %v", limit, counted, got, err)
		}
	}
	take(5, 3, true)
	take(5, 4, true)
	take(5, 0, false) // also after a statistics reset
	take(6, 0, true)
	take(10, 10, false)
	server.Stop()
	if _, err := New(store, nil).Take(t.Context(), link, 100, 0); !errors.Is(err, commands.ErrUnavailable) {
		t.Errorf("without the event store: %v", err)
	}
}

// BenchmarkTake takes clicks of links with a limit, for 64 visitors at a time.
func BenchmarkTake(b *testing.B) {
	for _, links := range []int{1, 64} {
		b.Run(fmt.Sprintf("links=%d", links), func(b *testing.B) {
			store := eventstoretest.Open(b, eventstoretest.ServeFolder(b, b.TempDir()).URL())
			node := New(store, nil)
			var taken atomic.Int64
			b.ResetTimer()
			commandstest.Together(64, func(i int) {
				link := "link-" + strconv.Itoa(i%links)
				for taken.Add(1) <= int64(b.N) {
					if ok, err := node.Take(b.Context(), link, 1<<40, 0); !ok || err != nil {
						b.Error(ok, err)
						return
					}
				}
			})
		})
	}
}
