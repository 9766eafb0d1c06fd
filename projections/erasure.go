package projections

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"linkledger/events/eventstore"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// AwaitErasure waits until each generation that may have notes, serving or not, has applied the log
// up to the position of an erasure. If ctx ends first, AwaitErasure returns the error of ctx, and
// the generations that have not reached the position.
func AwaitErasure(
	ctx context.Context, db *readmodel.DB, at eventstore.Position,
) (behind []string, err error) {
	names := []string{History, Links}
	for {
		behind = behind[:0]
		if err := db.NewRaw(`SELECT name || ' ' || generation FROM linkledger.generations
			WHERE name IN (?) AND (commit_pos, prepare_pos) < (?, ?) ORDER BY name, generation`,
			bun.List(names), sqlbatch.Signed(at.Commit),
			sqlbatch.Signed(at.Prepare)).Scan(ctx, &behind); err != nil {
			return behind, fmt.Errorf("look for an erasure: %w", err)
		}
		if len(behind) == 0 {
			return nil, nil
		}
		select {
		case <-ctx.Done():
			return behind, ctx.Err()
		case <-time.After(pollInterval):
		}
	}
}
