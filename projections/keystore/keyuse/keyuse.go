// Package keyuse records when API keys were used last.
package keyuse

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// useDelay is how long the use of an API key waits before it is stored. Further uses in that
	// time are stored together with it.
	useDelay = 50 * time.Second
	// useInterval is how often the uses that have waited long enough are stored.
	useInterval = 5 * time.Second
	// useTimeout bounds the storing of the uses.
	useTimeout = 5 * time.Second
)

// Uses records when each API key was used last. The time of a key is stored within a minute, but at
// most once in 50 seconds. A node that is killed loses the uses of the last minute. The times of
// different keys are not all stored at once, so no call waits for a long write. Uses is safe for
// concurrent use.
type Uses struct {
	db     *pgxpool.Pool
	logger *slog.Logger

	mu   sync.Mutex
	used map[useOf]use // uses that are not stored yet
}

type useOf struct {
	account uuid.UUID
	key     string
}

// use is the first and the last use of a key that are not stored yet.
type use struct{ first, last time.Time }

// New returns the uses of the keys in a database. It stores nothing before Run.
func New(db *pgxpool.Pool, logger *slog.Logger) *Uses {
	return &Uses{db: db, logger: logger, used: make(map[useOf]use)}
}

// Used records that a key of an account is used now. The key MUST exist in the account, because
// each used key takes memory until it is stored.
func (u *Uses) Used(account uuid.UUID, key string) {
	now := time.Now()
	u.mu.Lock()
	defer u.mu.Unlock()
	of := useOf{account, key}
	before, known := u.used[of]
	if !known {
		before.first = now
	}
	u.used[of] = use{before.first, now}
}

// Run stores the uses until ctx ends, and then the remaining uses.
func (u *Uses) Run(ctx context.Context) error {
	ticker := time.NewTicker(useInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
		before := time.Now()
		if ctx.Err() == nil {
			before = before.Add(-useDelay)
		}
		if err := u.store(context.WithoutCancel(ctx), before); err != nil {
			u.logger.WarnContext(
				ctx, "the last uses of API keys are not stored yet", slog.Any("error", err),
			)
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// store stores the uses whose wait began at the time before or earlier. If it fails, the next call
// stores them.
func (u *Uses) store(ctx context.Context, before time.Time) error {
	used := u.take(before)
	if len(used) == 0 {
		return nil
	}
	accounts, keys := make([]string, 0, len(used)), make([]string, 0, len(used))
	times := make([]time.Time, 0, len(used))
	for of, at := range used {
		accounts, keys = append(accounts, of.account.String()), append(keys, of.key)
		times = append(times, at.last)
	}
	ctx, cancel := context.WithTimeout(ctx, useTimeout)
	defer cancel()
	// The rows are stored in the order of their keys, so that two nodes that store the same keys do
	// not deadlock.
	_, err := u.db.Exec(ctx, `
		INSERT INTO linkledger_durable.key_uses AS k (account_id, key_id, last_used)
		SELECT * FROM unnest($1::uuid[], $2::text[], $3::timestamptz[]) ORDER BY 1, 2
		ON CONFLICT (account_id, key_id) DO UPDATE
			SET last_used = greatest(k.last_used, EXCLUDED.last_used)`, accounts, keys, times)
	if err == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for of, at := range used {
		if later, ok := u.used[of]; ok {
			at.last = later.last
		}
		u.used[of] = at
	}
	return fmt.Errorf("store the uses of %d keys: %w", len(used), err)
}

// take removes the uses whose wait began at the time before or earlier, and returns them.
func (u *Uses) take(before time.Time) map[useOf]use {
	u.mu.Lock()
	defer u.mu.Unlock()
	taken := make(map[useOf]use)
	for of, at := range u.used {
		if !at.first.After(before) {
			taken[of] = at
			delete(u.used, of)
		}
	}
	return taken
}
