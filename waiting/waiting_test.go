package waiting_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"linkledger/waiting"
)

// TestLongWaitIsReported checks that a wait is reported after 5 seconds and then ever more rarely,
// and that its end is reported too.
func TestLongWaitIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at []time.Duration
		held, ended := errors.New("held"), false
		ctx := waiting.WithReport(t.Context(), func(_ context.Context, what string, why error) {
			if what != "lock" || ended || !errors.Is(why, held) && why != nil {
				t.Errorf("report of %s: %v", what, why)
			}
			at, ended = append(at, time.Since(began)), why == nil
		})
		failure := errors.New("failure")
		err := waiting.During(ctx, "lock", func(context.Context) error { return held },
			func(ctx context.Context) error {
				<-time.After(80 * time.Second)
				return failure
			})
		want := []time.Duration{
			5 * time.Second, 15 * time.Second, 35 * time.Second, 75 * time.Second, 80 * time.Second,
		}
		if !errors.Is(err, failure) || !slices.Equal(at, want) || !ended {
			t.Errorf("%v, reported at %v, want %v", err, at, want)
		}
	})
}

// TestShortWaitIsNotReported checks that calls that end soon, or have nobody to tell, report nothing.
func TestShortWaitIsNotReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := waiting.WithReport(t.Context(), func(context.Context, string, error) { t.Error("reported") })
		pause := func(d time.Duration) func(context.Context) error {
			return func(context.Context) error { <-time.After(d); return nil }
		}
		if err := waiting.During(ctx, "answer", nil, pause(4*time.Second)); err != nil {
			t.Error(err)
		}
		if err := waiting.During(t.Context(), "answer", nil, pause(time.Minute)); err != nil {
			t.Error(err)
		}
	})
}

// TestReasonIsNotAwaited checks that a reason that cannot be found out does not delay a report or
// the end of the call.
func TestReasonIsNotAwaited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, reports := time.Now(), 0
		ctx := waiting.WithReport(t.Context(), func(context.Context, string, error) { reports++ })
		hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		_ = waiting.During(ctx, "answer", hang, func(context.Context) error {
			<-time.After(12 * time.Second)
			return nil
		})
		_ = waiting.During(ctx, "answer", nil, func(context.Context) error {
			<-time.After(6 * time.Second)
			return nil
		})
		if reports != 4 || time.Since(began) != 18*time.Second {
			t.Errorf("%d reports in %s", reports, time.Since(began))
		}
	})
}
