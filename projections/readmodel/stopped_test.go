package readmodel

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"linkledger/internal/pgserver/bouncertest"
	"linkledger/internal/pgserver/postgrestest"
)

// TestStoppedQueriesBehindPooler lets the time of queries end about when they do, behind PgBouncer. PgBouncer 1.18 ends,
// with the connections of all clients, when the request to stop a query is cut off.
func TestStoppedQueriesBehindPooler(t *testing.T) {
	t.Parallel()
	db, err := Open(t.Context(), bouncertest.Start(t, postgrestest.NewDatabase(t), "default_pool_size = 60"), 24)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	var callers sync.WaitGroup
	for range 16 {
		callers.Go(func() {
			for range 60 {
				const takes = 20 * time.Millisecond
				within := takes + time.Duration(rand.IntN(6)-3)*time.Millisecond
				ctx, cancel := context.WithTimeout(t.Context(), within)
				_, err := db.Pool.Exec(ctx, fmt.Sprintf("SELECT pg_sleep(%f)", takes.Seconds()))
				cancel()
				_, stopped := errors.AsType[*pgconn.PgError](err)
				if err != nil && !stopped && !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
					return
				}
			}
		})
	}
	callers.Wait()
}
