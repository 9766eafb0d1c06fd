package generation

// A judgement has the words that decide which clicks count. Judgements are stored in the schema
// linkledger_durable, because the log cannot rebuild them. So each later generation counts by the
// same words until an operator gives other words, even if all read models are built anew.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"linkledger/projections/readmodel"
	"linkledger/robots"
)

// ErrOtherWords means that a generation is being built that judges clicks by other words: wait
// until it serves, or prune it.
var ErrOtherWords = errors.New("a build that was begun earlier judges clicks by other words: " +
	"wait until it serves, or prune it")

// newestJudgement selects the number of the newest judgement, or 0 if there is none.
const newestJudgement = "(SELECT coalesce(max(number), 0) FROM linkledger_durable.judgements)"

// ChooseJudgement chooses the newest judgement for a generation that has none yet, which is the
// first one of its database. It does nothing if the generation has another owner.
func (c Checkpoint) ChooseJudgement(ctx context.Context, db bun.IDB) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if _, err := db.NewRaw(`
		UPDATE linkledger.generations SET judgement = `+newestJudgement+`
		WHERE name = ? AND generation = ? AND epoch = ? AND judgement IS NULL`,
		c.Name, c.Generation, c.Epoch).Exec(ctx); err != nil {
		return fmt.Errorf("judgement of %s: %w", c.Name, err)
	}
	return nil
}

// JudgementOf returns the judgement of a generation and its number. They are nil and 0 if the
// clicks keep their recorded verdicts.
func JudgementOf(
	ctx context.Context, db bun.IDB, c Checkpoint,
) (j *robots.Judgement, number int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var found []struct {
		Number int64
		Words  string
		Until  time.Time
	}
	if err := db.NewRaw(`
		SELECT j.number, j.words, j.until
		FROM linkledger.generations AS g JOIN linkledger_durable.judgements AS j
			ON j.number = coalesce(g.judgement, `+newestJudgement+`)
		WHERE g.name = ? AND g.generation = ?`, c.Name, c.Generation).
		Scan(ctx, &found); err != nil {
		return nil, 0, fmt.Errorf("judgement of %s: %w", c.Name, err)
	}
	if len(found) == 0 {
		return nil, 0, nil
	}
	words, err := robots.Parse(found[0].Words)
	if err != nil {
		return nil, 0, fmt.Errorf("judgement %d: %w", found[0].Number, err)
	}
	return &robots.Judgement{Words: words, Until: found[0].Until}, found[0].Number, nil
}

// CreateJudged does what CreateBeside does for several projections. The new generations judge all
// clicks up to now by words. Builds that were begun with the same words are continued. CreateJudged
// fails with ErrOtherWords if a build was begun with other words.
func CreateJudged(
	ctx context.Context, db *readmodel.DB, names []string, owner string, words *robots.Table,
) (created []readmodel.Generation, err error) {
	err = db.Locked(ctx, func(ctx context.Context) error {
		return db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
			judgement, err := storeJudgement(ctx, tx, names, words)
			if err != nil {
				return err
			}
			for _, name := range names {
				g, begun, err := createBeside(ctx, tx, name, owner, &judgement)
				if err == nil && !begun && (g.Judgement == nil || *g.Judgement != judgement) {
					err = ErrOtherWords
				}
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				created = append(created, g)
			}
			return nil
		})
	})
	return created, err
}

// storeJudgement returns the number of a judgement with the given words. If one of the projections
// is already being built by such a judgement, it returns the number of that one. Otherwise it
// stores a new judgement.
func storeJudgement(
	ctx context.Context, tx bun.Tx, names []string, words *robots.Table,
) (number int64, err error) {
	var begun []int64
	if err := tx.NewRaw(`
		SELECT j.number FROM linkledger_durable.judgements AS j
			JOIN linkledger.generations AS g ON g.judgement = j.number
		WHERE g.name IN (?) AND NOT g.built AND j.words = ? ORDER BY j.number DESC LIMIT 1`,
		bun.List(names), words.Text()).Scan(ctx, &begun); err != nil {
		return 0, fmt.Errorf("look for the words: %w", err)
	}
	if len(begun) > 0 {
		return begun[0], nil
	}
	if err := tx.NewRaw(`
		INSERT INTO linkledger_durable.judgements (number, words, until)
		SELECT coalesce(max(number), 0) + 1, ?, clock_timestamp() FROM linkledger_durable.judgements
		RETURNING number`, words.Text()).Scan(ctx, &number); err != nil {
		return 0, fmt.Errorf("store the words: %w", err)
	}
	return number, nil
}
