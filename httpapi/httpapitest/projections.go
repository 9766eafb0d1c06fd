package httpapitest

// This file stops, awaits and checks the projections of a stack.

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"linkledger/httpapi"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/archive"
	"linkledger/events/eventstore"
	"linkledger/projections"
	"linkledger/projections/engine/status"
	"linkledger/projections/readmodel"
)

// AwaitLevel waits until projections have everything that is in the log by now.
func (s *Stack) AwaitLevel(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		for {
			generations, err := status.Generations(WithTimeout(t), s.DB)
			if err == nil {
				err = status.AddLag(WithTimeout(t), projections.All(), s.Store, generations)
			}
			if err != nil {
				t.Fatal(err)
			}
			lags := false
			for _, g := range generations {
				lags = lags || g.Name == name && g.Serving && g.LagEvents > 0
			}
			if !lags {
				break
			}
			if WithTimeout(t).Err() != nil {
				t.Fatal("the projection stays behind")
			}
			<-time.After(5 * time.Millisecond)
		}
	}
}

// Pause stops projections until the test ends or resumes them.
func (s *Stack) Pause(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := projections.Pause(WithTimeout(t), s.DB, name); err != nil {
			t.Fatal(err)
		}
	}
}

// Resume lets paused projections follow the log again.
func (s *Stack) Resume(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := projections.Resume(WithTimeout(t), s.DB, name); err != nil {
			t.Fatal(err)
		}
	}
}

// AwaitNotifications waits until the notifications of all commits so far have been received.
// Notifications arrive in the order of the commits.
func (s *Stack) AwaitNotifications(t testing.TB) {
	t.Helper()
	if _, err := s.DB.NewRaw("SELECT pg_notify(?, 'marker 1')", readmodel.Channel).Exec(WithTimeout(t)); err != nil {
		t.Fatal(err)
	}
	if err := s.Waiter.Wait(WithTimeout(t), "marker", 1); err != nil {
		t.Fatal(err)
	}
}

// SetAside appends an event without the checks of commands, so the event may contradict its stream.
// Then it waits until the projections have applied the event or set it aside as a dead letter.
func (s *Stack) SetAside(t *testing.T, stream string, e events.Event, by ...string) {
	t.Helper()
	last, err := s.Store.Last(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	appended, err := s.Store.Append(t.Context(), eventstore.Write{
		Stream: stream, Expected: last.Revision, Command: uuid.New(), Events: []events.Event{e},
	})
	for _, name := range by {
		if err == nil {
			err = s.Waiter.Wait(WithTimeout(t), name, appended.Position.Commit)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Exported returns an export of the events of an account, in a format. If account is empty, it
// exports the events of all accounts.
func (s *Stack) Exported(t *testing.T, format archive.Format, account string) string {
	t.Helper()
	s.CatchUp(t)
	var file strings.Builder
	export, err := archive.Begin(WithTimeout(t), s.Store, &file, archive.Header{Format: format, Account: account})
	if err == nil {
		_, err = export.Run(WithTimeout(t), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file.String()
}

// Barrier blocks the first call that waits for the read model of links after Closed is set, until
// Open is closed.
type Barrier struct {
	Closed  atomic.Bool
	Arrived chan struct{} // is closed when a call is blocked
	Open    chan struct{}
}

// NewBarrier returns a barrier that blocks nothing yet.
func NewBarrier() *Barrier { return &Barrier{Arrived: make(chan struct{}), Open: make(chan struct{})} }

// Adjust puts the barrier into a configuration.
func (g *Barrier) Adjust(cfg *httpapi.Config) {
	wait := cfg.Projections.Wait
	cfg.Projections.Wait = func(ctx context.Context, projection string, position uint64) error {
		if projection == projections.Links && g.Closed.CompareAndSwap(true, false) {
			close(g.Arrived)
			<-g.Open
		}
		return wait(ctx, projection, position)
	}
}
