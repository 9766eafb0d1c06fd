package keystore

import (
	"context"
	"log/slog"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"

	"linkledger/projections/keystore/keyfile"
)

// followInterval is how often Follow looks for changes that were made without the copy.
const followInterval = 5 * time.Second

// Follow keeps the copy up to date until ctx ends. Changes that were made without the copy, such as
// by psql or the projections, are in the copy a few seconds later. If there is no copy, Follow only
// waits until ctx ends.
func (k *Keys) Follow(ctx context.Context, logger *slog.Logger) error {
	ticker := time.NewTicker(followInterval)
	defer ticker.Stop()
	seen := make(map[string]int64)
	failing := false
	for {
		to, err := k.copyIn(ctx)
		if err == nil && to == nil {
			<-ctx.Done()
			return nil
		}
		if err == nil {
			err = k.copyChanged(ctx, seen)
		}
		if err != nil && ctx.Err() == nil && !failing {
			logger.WarnContext(
				ctx, "the copy of the keys is not up to date", slog.Any("error", err),
			)
		}
		failing = err != nil
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// copyChanged copies the tables whose counters of changes in PostgreSQL differ from those in seen.
// It then stores the new counters in seen.
func (k *Keys) copyChanged(ctx context.Context, seen map[string]int64) error {
	found, err := k.pool.Query(ctx, `
		SELECT relname::text, n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_user_tables
		WHERE schemaname = 'linkledger_durable'`)
	if err != nil {
		return err
	}
	now := make(map[string]int64)
	var table string
	var changes int64
	if _, err := pgx.ForEachRow(found, []any{&table, &changes}, func() error {
		now[table] = changes
		return nil
	}); err != nil {
		return err
	}
	var changed []string
	for _, table := range append([]string{keyfile.AccountKeys}, keyfile.WholeTables()...) {
		if before, known := seen[table]; !known || before != now[table] {
			changed = append(changed, table)
		}
	}
	if len(changed) == 0 {
		return nil
	}
	if err := k.copyTables(ctx, changed); err != nil {
		return err
	}
	maps.Copy(seen, now)
	return nil
}
