package waiting_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"linkledger/waiting"
)

// dependency is a Dependency with a server that a test can silence.
type dependency struct {
	*waiting.Dependency

	silent atomic.Bool
	tries  atomic.Int64
	ended  atomic.Int64
}

func watched(t *testing.T) *dependency {
	t.Helper()
	d := &dependency{}
	d.Dependency = waiting.NewDependency(waiting.DependencyConfig{
		What: "database", Patience: 5 * time.Second, Logger: slog.New(slog.DiscardHandler),
		Try: func(ctx context.Context) error {
			d.tries.Add(1)
			if d.silent.Load() {
				<-ctx.Done()
			}
			return ctx.Err()
		},
		End: func() { d.ended.Add(1) },
	})
	return d
}

// TestSilenceIsNoticedOnce checks that calls wait for Patience at most, that they are then ended and others are
// refused, and that the first answer lets calls wait again.
func TestSilenceIsNoticedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := watched(t)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			d.Run(ctx)
			close(ended)
		}()
		<-time.After(time.Hour) // nobody asks
		d.Asked()
		d.Answered()
		<-time.After(time.Hour)
		if got := d.tries.Load(); got != 0 {
			t.Errorf("tried %d times without a reason", got)
		}
		d.silent.Store(true)
		began := time.Now()
		call, end := d.Bind(ctx)
		defer end()
		d.Asked()
		<-call.Done()
		if waited := time.Since(began); waited < 4*time.Second || waited > 7*time.Second {
			t.Errorf("the call was ended after %s", waited)
		}
		var lost *waiting.LostError
		if err := d.Lost(); !errors.As(err, &lost) || lost.What != "database" {
			t.Errorf("lost: %v", err)
		}
		if late, end := d.Bind(ctx); true {
			synctest.Wait()
			if late.Err() == nil {
				t.Error("a later call waits")
			}
			end()
		}
		d.silent.Store(false)
		<-time.After(2 * time.Second)
		found, end := d.Bind(ctx)
		defer end()
		if d.Lost() != nil || found.Err() != nil || d.ended.Load() != 1 {
			t.Errorf("found again: %v, %v; calls were ended %d times", d.Lost(), found.Err(), d.ended.Load())
		}
		stop()
		<-ended
	})
}

// TestSlowAnswersAreNoOutage checks that a dependency is not lost because one answer takes long, because somebody did
// not wait for an answer, or because the process was suspended.
func TestSlowAnswersAreNoOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := watched(t)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		d.Asked()
		<-time.After(time.Minute) // as a suspended process, whose first try comes late
		go func() {
			d.Run(ctx)
			close(ended)
		}()
		<-time.After(time.Minute)
		d.Asked()
		d.silent.Store(true)
		<-time.After(3 * time.Second) // a short outage
		d.silent.Store(false)
		<-time.After(time.Minute)
		if err := d.Lost(); err != nil || d.ended.Load() > 0 {
			t.Errorf("lost: %v", err)
		}
		stop()
		<-ended
	})
}
