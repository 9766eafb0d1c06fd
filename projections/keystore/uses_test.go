package keystore_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/google/uuid"

	"linkledger/projections/keystore"
)

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
	ctx, keys := withTimeout(t), create(t)
	account := uuid.New()
	ended, end := context.WithCancel(ctx)
	end() // so that Run stores once
	var nodes sync.WaitGroup
	for range 4 {
		uses := keystore.NewUses(keys.Keys, slog.New(failures{slog.DiscardHandler, t}))
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
	if n := scan[int](t, keys, "SELECT count(*) FROM linkledger_keys.key_uses"); n != 3000 {
		t.Errorf("%d uses are stored, want 3000", n)
	}
}
