package httpapi_test

// This file checks that the projections apply everything that the service accepts.

import (
	"fmt"
	"testing"
	"time"

	"linkledger/httpapi/httpapitest"
	"linkledger/projections"
	"linkledger/projections/engine/status"
)

// neverStopped fails the test if a projection has met an event that it cannot apply.
func neverStopped(t testing.TB, s *httpapitest.Stack, what string) {
	t.Helper()
	all, err := status.Generations(httpapitest.WithTimeout(t), s.DB)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		if o.LastError != "" {
			t.Fatalf("after %s: the projection %s is %s: %s", what, o.Name, o.State, o.LastError)
		}
	}
	letters, err := projections.DeadLetters(httpapitest.WithTimeout(t), s.DB, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range letters {
		t.Errorf("after %s: %s has set aside %s of %s: %s", what, l.Name, l.Type, l.Stream, l.Error)
	}
}

// applied waits until all projections are live and have applied the whole log. It fails the test if
// one has met an event that it cannot apply. what says what was sent before.
func applied(t testing.TB, s *httpapitest.Stack, what string) {
	t.Helper()
	ctx := httpapitest.WithTimeout(t)
	for {
		all, err := status.Overviews(ctx, projections.All(), s.DB, s.Store)
		if err != nil {
			t.Fatalf("after %s: %v", what, err)
		}
		neverStopped(t, s, what)
		behind := ""
		for _, o := range all {
			if o.LagEvents > 0 || o.State != status.Live {
				behind = fmt.Sprintf("%s is %s, %d events behind", o.Name, o.State, o.LagEvents)
			}
		}
		if behind == "" {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("after %s: %s", what, behind)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// verified checks that all projections are what the log says.
func verified(t testing.TB, s *httpapitest.Stack) {
	t.Helper()
	applied(t, s, "all calls")
	for _, name := range projections.Names() {
		found, err := projections.Verify(t.Context(), s.DB, s.Store, name, func([]status.Progress) {})
		if err != nil {
			t.Fatalf("verify %s: %v", name, err)
		}
		if found.Different > 0 {
			t.Errorf("%d rows of %s are not as the log says, such as %s", found.Different, name, found.Differences[0])
		}
	}
}
