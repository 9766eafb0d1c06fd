package keystore

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
)

const (
	// useInterval is how often the uses of API keys are stored.
	useInterval = 20 * time.Second
	// useTimeout bounds the storing of the uses.
	useTimeout = 5 * time.Second
)

// Uses records when each API key was used last. It stores the times every 20 seconds, so a node
// that is killed loses those of the last 20 seconds. It is safe for concurrent use.
type Uses struct {
	keys   *Keys
	logger *slog.Logger

	mu   sync.Mutex
	used map[useOf]time.Time // since they were stored last
}

type useOf struct {
	account uuid.UUID
	key     string
}

// NewUses returns the uses of the keys in a database. It stores nothing before Run.
func NewUses(keys *Keys, logger *slog.Logger) *Uses {
	return &Uses{keys: keys, logger: logger, used: make(map[useOf]time.Time)}
}

// Used records that a key of an account is used now. The key MUST be one of the account, because
// the keys of the last seconds are kept in memory.
func (u *Uses) Used(account uuid.UUID, key string) {
	now := time.Now()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.used[useOf{account, key}] = now
}

// Run stores the uses until ctx ends, and then those that are left.
func (u *Uses) Run(ctx context.Context) error {
	ticker := time.NewTicker(useInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
		if err := u.store(context.WithoutCancel(ctx)); err != nil {
			u.logger.WarnContext(
				ctx, "the last uses of API keys are not stored yet", slog.Any("error", err),
			)
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// store stores the uses since the last time. If that fails, the next time stores them.
func (u *Uses) store(ctx context.Context) error {
	u.mu.Lock()
	used := u.used
	u.used = make(map[useOf]time.Time)
	u.mu.Unlock()
	if len(used) == 0 {
		return nil
	}
	accounts, keys := make([]string, 0, len(used)), make([]string, 0, len(used))
	times := make([]time.Time, 0, len(used))
	for of, at := range used {
		accounts, keys = append(accounts, of.account.String()), append(keys, of.key)
		times = append(times, at)
	}
	ctx, cancel := context.WithTimeout(ctx, useTimeout)
	defer cancel()
	// In their order, so that two nodes that store the same keys wait for each other once.
	_, err := u.keys.pool.Exec(ctx, `
		INSERT INTO linkledger_keys.key_uses AS k (account_id, key_id, last_used)
		SELECT * FROM unnest($1::uuid[], $2::text[], $3::timestamptz[]) ORDER BY 1, 2
		ON CONFLICT (account_id, key_id) DO UPDATE
			SET last_used = greatest(k.last_used, EXCLUDED.last_used)`, accounts, keys, times)
	if err == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for of, at := range used {
		if _, later := u.used[of]; !later {
			u.used[of] = at
		}
	}
	return fmt.Errorf("store the uses of %d keys: %w", len(used), explain(err))
}
