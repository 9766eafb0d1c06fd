package generation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"linkledger/projections/readmodel"
	"linkledger/projections/readmodel/controlschema"
)

// First is the number of the generation that Prepare creates.
const First = 1

// Prepare creates what is missing in the database: the control schema, and the tables, views and
// checkpoint of each projection. It updates the schema of keys if there is one. Several processes
// may call it at the same time, and it may be killed at any point and called again. It fails as
// DB.CheckRequirements does, and with controlschema.ErrNewer if a newer version of the program has
// changed the database.
func Prepare(ctx context.Context, db *readmodel.DB, names []string) error {
	if err := db.CheckRequirements(ctx); err != nil {
		return err
	}
	return db.Locked(ctx, func(ctx context.Context) error {
		err := db.CheckVersion(ctx)
		if err != nil && !errors.Is(err, controlschema.ErrNotUpgraded) {
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
// not empty, that process owns the generation, and its lease begins now. The new generation judges
// clicks as the serving one does.
func CreateNext(
	ctx context.Context, tx bun.Tx, name, shape, owner string,
) (readmodel.Generation, error) {
	next := readmodel.Generation{Name: name, Shape: shape, Owner: owner}
	const query = `SELECT max(generation) + 1, min(judgement) FILTER (WHERE serving)
		FROM linkledger.generations WHERE name = ?`
	if err := tx.NewRaw(query, name).Scan(ctx, &next.Generation, &next.Judgement); err != nil {
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
// none, it begins one for owner, which may be empty, and begun is true. It fails with ErrPaused if
// the projection is paused, and with ErrOtherShape if the serving generation has another shape.
func CreateBeside(
	ctx context.Context, db *readmodel.DB, name, owner string,
) (g readmodel.Generation, begun bool, err error) {
	err = db.Locked(ctx, func(ctx context.Context) error {
		return db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) (err error) {
			g, begun, err = createBeside(ctx, tx, name, owner, nil)
			return err
		})
	})
	return g, begun, err
}

// StartOver empties a generation that is being built, so that its next owner reads the log from the
// start. It does nothing if the generation has served, or if its owner has changed since at was
// read.
func StartOver(ctx context.Context, db *readmodel.DB, at Checkpoint) error {
	err := db.Locked(ctx, func(ctx context.Context) error {
		return db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
			var emptied []readmodel.Generation
			if err := tx.NewRaw(`UPDATE linkledger.generations
				SET commit_pos = 0, prepare_pos = 0, witness_id = NULL, epoch = epoch + 1,
					owner = '', lease_until = 'epoch'
				WHERE name = ? AND generation = ? AND epoch = ? AND NOT built AND NOT serving
				RETURNING *`, at.Name, at.Generation, at.Epoch).Scan(ctx, &emptied); err != nil ||
				len(emptied) == 0 {
				return err
			}
			if _, err := tx.NewRaw(`DELETE FROM linkledger.dead_letters
				WHERE name = ? AND generation = ?`, at.Name, at.Generation).Exec(ctx); err != nil {
				return err
			}
			if err := readmodel.DropTables(ctx, tx, at.Name, at.Generation); err != nil {
				return err
			}
			if err := readmodel.CreateBareTables(ctx, tx, at.Name, at.Generation); err != nil {
				return err
			}
			return WakeElections(ctx, tx, at.Name)
		})
	})
	if err != nil {
		return fmt.Errorf("start generation %d of %s over: %w", at.Generation, at.Name, err)
	}
	return nil
}

// createBeside does what CreateBeside does, within tx. If it begins a generation, that generation
// judges clicks by judgement, or as the serving generation does if judgement is nil.
func createBeside(
	ctx context.Context, tx bun.Tx, name, owner string, judgement *int64,
) (g readmodel.Generation, begun bool, err error) {
	shape, err := readmodel.Shape(name)
	if err != nil {
		return g, false, err
	}
	serving, err := Serving(ctx, tx, name)
	switch {
	case err != nil:
		return g, false, err
	case serving.Paused:
		return g, false, ErrPaused
	case serving.Shape != shape:
		return g, false, ErrOtherShape
	}
	var building []readmodel.Generation
	if err := tx.NewSelect().Model(&building).Where(
		"name = ? AND NOT built AND shape = ?", name, shape,
	).Scan(ctx); err != nil {
		return g, false, err
	}
	if len(building) > 0 {
		return building[0], false, nil
	}
	g, err = CreateNext(ctx, tx, name, shape, owner)
	if err != nil || judgement == nil {
		return g, true, err
	}
	g.Judgement = judgement
	_, err = tx.NewUpdate().Model(&g).Column("judgement").WherePK().Exec(ctx)
	return g, true, err
}

func insertGeneration(
	ctx context.Context, tx bun.Tx, g readmodel.Generation, lease time.Duration,
) error {
	if _, err := tx.NewRaw(`INSERT INTO linkledger.generations
			(name, generation, serving, shape, built, owner, lease_until, judgement)
		VALUES (?0, ?1, ?2, ?3, ?4, ?5, CASE
			WHEN ?6 > 0 THEN clock_timestamp() + make_interval(secs => ?6) ELSE 'epoch' END, ?7)`,
		g.Name, g.Generation, g.Serving, g.Shape, g.Built, g.Owner, lease.Seconds(), g.Judgement).
		Exec(ctx); err != nil {
		return fmt.Errorf("create the checkpoint of %s: %w", g.Name, err)
	}
	return nil
}
