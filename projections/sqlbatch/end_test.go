package sqlbatch_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"linkledger/projections/sqlbatch"
)

// TestOutliving checks how long a commit may go on after its context has ended.
func TestOutliving(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		longer, done := sqlbatch.Outliving(ctx)
		defer done()
		end()
		began := time.Now()
		<-longer.Done()
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("the context has ended after %s", took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		longer, done := sqlbatch.Outliving(t.Context())
		time.Sleep(time.Hour)
		if longer.Err() != nil {
			t.Error("the context has ended before its parent")
		}
		done()
		if longer.Err() == nil {
			t.Error("the context has not ended")
		}
	})
}
