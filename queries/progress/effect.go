package progress

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"linkledger/events"
)

// LastChange returns the commit position of the last change of an account that the read models
// show, or 0 if there is none.
func (w *Waiter) LastChange(ctx context.Context, account uuid.UUID) (uint64, error) {
	var changed uint64
	err := w.db.NewRaw(
		"SELECT coalesce(max(changed), 0) FROM linkledger.accounts WHERE id = ?", account,
	).Scan(ctx, &changed)
	if err != nil {
		return 0, fmt.Errorf("last change of an account: %w", err)
	}
	return changed, nil
}

// Passed reports whether the serving generation of a projection has reached a commit position.
func (w *Waiter) Passed(ctx context.Context, projection string, position uint64) (bool, error) {
	var passed bool
	err := w.db.NewRaw(`SELECT EXISTS (SELECT FROM linkledger.generations
			WHERE name = ? AND serving AND commit_pos >= ?)`,
		projection, int64(position), //nolint:gosec // below 2^63
	).Scan(ctx, &passed)
	if err != nil {
		return false, fmt.Errorf("progress of %s: %w", projection, err)
	}
	return passed, nil
}

// LacksEffect reports whether a change of an account or a person has no effect, although the
// projection of accounts has passed the commit position of the change's event, because the stream
// of the event is set aside. Events that end rights are usually applied although they are set
// aside. endsRights means that the change only ends rights. Such a change lacks its effect only if
// a set-aside event of the stream that ends rights is not applied. Any other change lacks its
// effect if any set-aside event of the stream, up to the change's event, is not applied.
func (w *Waiter) LacksEffect(
	ctx context.Context, position uint64, endsRights bool,
) (lacks bool, err error) {
	err = w.db.NewRaw(`
		WITH letters AS (
			SELECT letter.stream, letter.type, letter.commit_pos
			FROM linkledger.dead_letters AS letter
			JOIN linkledger.generations AS g USING (name, generation)
			WHERE g.serving AND letter.name = 'accounts' AND letter.commit_pos <= ?0)
		SELECT EXISTS (SELECT FROM letters
			WHERE stream = (SELECT stream FROM letters WHERE commit_pos = ?0 LIMIT 1)
				AND CASE WHEN type IN ?1
					THEN NOT EXISTS (SELECT FROM linkledger.accounts
							WHERE letters.stream = 'account-' || id AND changed >= commit_pos)
						AND NOT EXISTS (SELECT FROM linkledger.people
							WHERE letters.stream = 'user-' || id AND erased)
					ELSE NOT ?2 END)`,
		int64(position), //nolint:gosec // below 2^63
		bun.Tuple(events.EndingTypes()), endsRights,
	).Scan(ctx, &lacks)
	if err != nil {
		return false, fmt.Errorf("effect of a change of an account: %w", err)
	}
	return lacks, nil
}
