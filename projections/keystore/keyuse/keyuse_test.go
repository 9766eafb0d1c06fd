package keyuse_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"linkledger/internal/pgserver/postgrestest"
	"linkledger/projections/keystore"
	"linkledger/projections/keystore/keyuse"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Main{M: m}) }

// failures reports what is logged.
type failures struct {
	slog.Handler

	t *testing.T
}

func (f failures) Enabled(context.Context, slog.Level) bool { return true }

func (f failures) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool { f.t.Errorf("%s: %s", r.Message, a.Value); return true })
	return nil
}

// TestUsesOfSeveralNodes stores the uses of the same keys at once, as several nodes do. Each of them succeeds.
func TestUsesOfSeveralNodes(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	pool, err := pgxpool.New(ctx, postgrestest.NewDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if err := keystore.New(pool).Create(ctx); err != nil {
		t.Fatal(err)
	}
	account := uuid.New()
	ended, end := context.WithCancel(ctx)
	end() // so that Run stores once
	var nodes sync.WaitGroup
	for range 4 {
		uses := keyuse.New(pool, slog.New(failures{slog.DiscardHandler, t}))
		for i := range 3000 {
			uses.Used(account, fmt.Sprint("key ", i))
		}
		nodes.Go(func() {
			if err := uses.Run(ended); err != nil {
				t.Error(err)
			}
		})
	}
	nodes.Wait()
	var n int
	err = pool.QueryRow(ctx, "SELECT count(*) FROM linkledger_durable.key_uses").Scan(&n)
	if n != 3000 || err != nil {
		t.Errorf("%d uses are stored, want 3000; %v", n, err)
	}
}
