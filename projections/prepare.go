package projections

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"linkledger/projections/readmodel"
)

// firstGeneration is the generation that Prepare makes.
const firstGeneration = 1

// Prepare creates what is missing in the database: the control schema, and for each projection its tables, views and
// checkpoint. It changes nothing that is there, and several processes may call it at once.
func Prepare(ctx context.Context, db *readmodel.DB) error {
	return db.Locked(ctx, func(ctx context.Context) error {
		if err := db.Migrate(ctx); err != nil {
			return err
		}
		for _, p := range all() {
			if err := prepare(ctx, db, p.name); err != nil {
				return err
			}
		}
		return nil
	})
}

// prepare makes the first generation of a projection, whole or not at all: the checkpoint's row tells that it exists.
func prepare(ctx context.Context, db *readmodel.DB, name string) error {
	exists, err := db.NewSelect().Model((*readmodel.Generation)(nil)).Where("name = ?", name).Exists(ctx)
	if err != nil {
		return fmt.Errorf("look for projection %s: %w", name, err)
	}
	if exists {
		return nil
	}
	return db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		if err := readmodel.CreateTables(ctx, tx, name, firstGeneration); err != nil {
			return err
		}
		if err := readmodel.Serve(ctx, tx, name, firstGeneration); err != nil {
			return err
		}
		if _, err := tx.NewRaw("INSERT INTO linkledger.generations (name, generation, serving) VALUES (?, ?, true)",
			name, firstGeneration).Exec(ctx); err != nil {
			return fmt.Errorf("create the checkpoint of %s: %w", name, err)
		}
		return nil
	})
}
