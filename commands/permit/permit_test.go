package permit

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var (
	errEnded = errors.New("ended")
	errAway  = errors.New("away")
)

// TestCheck checks a caller as it loses its rights: a check counts for a while, an error that says
// nothing of the caller is not kept, and a refusal is final.
func TestCheck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		var err error
		ctx := With(t.Context(), New(func(context.Context) (bool, error) {
			asked++
			return errors.Is(err, errEnded), err
		}))
		expect := func(what string, want error, times int) {
			t.Helper()
			if got := Check(ctx); !errors.Is(got, want) || asked != times {
				t.Errorf("%s: %v after %d checks; want %v after %d", what, got, asked, want, times)
			}
		}
		err = errEnded
		expect("the check of the login counts", nil, 0)
		<-time.After(Fresh - 1)
		expect("it still counts", nil, 0)
		if Refused(ctx) != nil {
			t.Error("refused before it was asked")
		}
		<-time.After(1)
		if got := Check(Without(ctx)); got != nil {
			t.Errorf("without a permit: %v", got)
		}
		err = errAway
		expect("it cannot be told", errAway, 1)
		err = nil
		expect("it may go on", nil, 2)
		expect("that counts", nil, 2)
		if err := CheckNow(ctx); err != nil || asked != 3 {
			t.Errorf("a check now: %v after %d", err, asked)
		}
		<-time.After(Fresh)
		err = errEnded
		expect("its rights have ended", errEnded, 4)
		err = nil
		expect("that is final", errEnded, 4)
		if Refused(ctx) == nil || Check(t.Context()) != nil {
			t.Error("the refusal is forgotten, or others are refused")
		}
	})
}

// TestNoAppendAfterAnEnd checks that appends which check the caller end before AwaitEnd does,
// although each takes a while.
func TestNoAppendAfterAnEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var ended bool
		var last time.Time
		ctx := With(t.Context(), New(func(context.Context) (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			if ended {
				return true, errEnded
			}
			return false, nil
		}))
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for Check(ctx) == nil {
					<-time.After(time.Duration(i+1) * Fresh / 8)
					mu.Lock()
					last = time.Now()
					mu.Unlock()
				}
			})
		}
		<-time.After(10*Fresh + 7*time.Millisecond)
		mu.Lock()
		ended = true
		mu.Unlock()
		if err := AwaitEnd(t.Context()); err != nil {
			t.Fatal(err)
		}
		answered := time.Now()
		all.Wait()
		if last.After(answered) {
			t.Errorf("an append ended %s after the answer", last.Sub(answered))
		}
	})
}
