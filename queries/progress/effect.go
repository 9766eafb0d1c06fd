package progress

import (
	"context"
	"fmt"
)

// LacksEffect reports whether a change of an account or a person, whose event is at a commit
// position, has no effect although the projection of accounts has passed it: the event is set
// aside. An event that ends rights may be set aside and have its effect.
func (w *Waiter) LacksEffect(ctx context.Context, position uint64) (lacks bool, err error) {
	err = w.db.NewRaw(`SELECT EXISTS (
		SELECT FROM linkledger.dead_letters AS letter
		JOIN linkledger.generations AS g USING (name, generation)
		WHERE g.serving AND letter.name = 'accounts' AND letter.commit_pos = ?0
			AND NOT EXISTS (SELECT FROM linkledger.accounts
				WHERE letter.stream = 'account-' || id AND changed >= ?0)
			AND NOT EXISTS (SELECT FROM linkledger.people
				WHERE letter.stream = 'user-' || id AND erased))`,
		int64(position), //nolint:gosec // below 2^63
	).Scan(ctx, &lacks)
	if err != nil {
		return false, fmt.Errorf("effect of a change of an account: %w", err)
	}
	return lacks, nil
}
