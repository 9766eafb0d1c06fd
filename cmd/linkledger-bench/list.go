package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/jackc/pgx/v5"
)

const (
	// listers is how many clients read pages at a time.
	listers = 2
	// listed is how many links a page has.
	listed = 50
)

// lists measures pages of the account with many links, newest first, from its end and from its middle. The control reads
// the rows alone, found by their index.
func (b *bench) lists(ctx context.Context, s *service) (results []result, err error) {
	ours := newClient(s.base, s.lister, listers)
	defer ours.close()
	databases := make([]*pgx.Conn, listers)
	for i := range databases {
		if databases[i], err = pgx.Connect(ctx, s.Database); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, databases[i].Close(ctx)) }()
	}
	for _, offset := range []int{0, b.links / 2} {
		path := fmt.Sprintf("/urls?limit=%d&offset=%d", listed, offset)
		r, err := b.compare(ctx, comparison{
			name: fmt.Sprintf("pages of %d links, from %d", b.links, offset), unit: "pages", control: "bare SELECT",
			workers: listers, each: 1, server: s.child,
			ours: func(ctx context.Context, _ int) error {
				_, err := ours.call(ctx, http.MethodGet, path, nil)
				return err
			},
			bare: func(ctx context.Context, worker int) error {
				return selectPage(ctx, databases[worker], s.lister.ID, b.links-offset)
			},
		})
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

// selectPage reads the links before a number.
func selectPage(ctx context.Context, db *pgx.Conn, account string, before int) error {
	const question = `SELECT * FROM linkledger.links WHERE account_id = $1 AND deleted_at IS NULL AND number < $2 ORDER BY number DESC LIMIT $3`
	rows, err := db.Query(ctx, question, account, before, listed)
	if err != nil {
		return err
	}
	found := 0
	for rows.Next() {
		found++
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if found != listed {
		return fmt.Errorf("%d rows before link %d; want %d", found, before, listed)
	}
	return nil
}
