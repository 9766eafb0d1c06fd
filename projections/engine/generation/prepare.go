package generation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"linkledger/projections/readmodel"
)

// First is the number of the generation that Prepare creates.
const First = 1

// Prepare creates what is missing in the database: the control schema, and the tables, views and
// checkpoint of each projection. It updates the schema of keys if there is one. Several processes
// may call it at the same time, and it may be killed at any point and called again. It fails as
// DB.CheckRequirements does, and with readmodel.ErrNewer if a newer version of the program has
// changed the database.
func Prepare(ctx context.Context, db *readmodel.DB, names []string) error {
	if err := db.CheckRequirements(ctx); err != nil {
		return err
	}
	return db.Locked(ctx, func(ctx context.Context) error {
		if err := db.CheckVersion(ctx); err != nil && !errors.Is(err, readmodel.ErrNotUpgraded) {
			return err // before anything is changed
		}
		if err := db.Keys.Update(ctx); err != nil {
			return err
		}
		if err := db.Migrate(ctx); err != nil {
			return err
		}
		for _, name := range names {
			if err := prepare(ctx, db, name); err != nil {
				return err
			}
		}
		return nil
	})
}

// prepare creates a generation of this program's shape if there is none. The first generation
// serves at once. The engine builds a later one while the current one serves.
func prepare(ctx context.Context, db *readmodel.DB, name string) error {
	shape, err := readmodel.Shape(name)
	if err != nil {
		return err
	}
	var rows []readmodel.Generation
	if err := db.NewSelect().Model(&rows).Where("name = ?", name).Scan(ctx); err != nil {
		return fmt.Errorf("look for projection %s: %w", name, err)
	}
	if slices.ContainsFunc(rows, func(g readmodel.Generation) bool { return g.Shape == shape }) {
		return nil
	}
	return db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		if len(rows) > 0 {
			_, err := CreateNext(ctx, tx, name, shape, "")
			return err
		}
		if err := readmodel.DropGenerations(ctx, tx, name); err != nil {
			return err
		}
		if err := readmodel.CreateTables(ctx, tx, name, First); err != nil {
			return err
		}
		if err := readmodel.Serve(ctx, tx, name, 0, First); err != nil {
			return err
		}
		return insertGeneration(ctx, tx, readmodel.Generation{
			Name: name, Generation: First, Serving: true, Shape: shape, Built: true,
		}, 0)
	})
}

// CreateNext creates the next generation of a projection, empty and without indexes. If owner is
// not empty, it owns the generation and its lease begins now.
func CreateNext(
	ctx context.Context, tx bun.Tx, name, shape, owner string,
) (readmodel.Generation, error) {
	next := readmodel.Generation{Name: name, Shape: shape, Owner: owner}
	const query = "SELECT max(generation) + 1 FROM linkledger.generations WHERE name = ?"
	if err := tx.NewRaw(query, name).Scan(ctx, &next.Generation); err != nil {
		return next, fmt.Errorf("next generation of %s: %w", name, err)
	}
	if err := readmodel.CreateBareTables(ctx, tx, name, next.Generation); err != nil {
		return next, err
	}
	lease := time.Duration(0)
	if owner != "" {
		lease = DefaultLease
	}
	if err := insertGeneration(ctx, tx, next, lease); err != nil {
		return next, err
	}
	return next, WakeElections(ctx, tx, name)
}

// CreateBeside returns the generation that is being built beside the one that serves. If there is
// none, it begins one for an owner, which may be empty. It fails with ErrPaused and ErrOtherShape.
func CreateBeside(
	ctx context.Context, db *readmodel.DB, name, owner string,
) (g readmodel.Generation, begun bool, err error) {
	shape, err := readmodel.Shape(name)
	if err != nil {
		return g, false, err
	}
	err = db.Locked(ctx, func(ctx context.Context) error {
		serving, err := Serving(ctx, db, name)
		switch {
		case err != nil:
			return err
		case serving.Paused:
			return ErrPaused
		case serving.Shape != shape:
			return ErrOtherShape
		}
		var building []readmodel.Generation
		if err := db.NewSelect().Model(&building).Where(
			"name = ? AND NOT built AND shape = ?", name, shape,
		).Scan(ctx); err != nil {
			return err
		}
		if len(building) > 0 {
			g = building[0]
			return nil
		}
		begun = true
		return db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
			g, err = CreateNext(ctx, tx, name, shape, owner)
			return err
		})
	})
	return g, begun, err
}

func insertGeneration(
	ctx context.Context, tx bun.Tx, g readmodel.Generation, lease time.Duration,
) error {
	if _, err := tx.NewRaw(`INSERT INTO linkledger.generations
			(name, generation, serving, shape, built, owner, lease_until)
		VALUES (?0, ?1, ?2, ?3, ?4, ?5, CASE
			WHEN ?6 > 0 THEN clock_timestamp() + make_interval(secs => ?6) ELSE 'epoch' END)`,
		g.Name, g.Generation, g.Serving, g.Shape, g.Built, g.Owner, lease.Seconds()).
		Exec(ctx); err != nil {
		return fmt.Errorf("create the checkpoint of %s: %w", g.Name, err)
	}
	return nil
}
