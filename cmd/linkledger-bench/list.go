package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/jackc/pgx/v5"

	"linkledger/cmd/linkledger-bench/internal/caller"
	"linkledger/cmd/linkledger-bench/internal/installation"
	"linkledger/cmd/linkledger-bench/internal/load"
	"linkledger/cmd/linkledger-bench/internal/report"
)

const (
	// listers is the number of concurrent clients that read pages.
	listers = 2
	// pageLinks is the number of links on a page.
	pageLinks = 50
)

// lists measures pages of the account with many links, newest first: the first page and one from
// the middle. The control only reads the rows by their index.
func (b *bench) lists(
	ctx context.Context, s *installation.Service,
) (results []report.Result, err error) {
	ours := caller.New(s.Base, listers, s.Lister)
	defer ours.Close()
	databases := make([]*pgx.Conn, listers)
	for i := range databases {
		if databases[i], err = pgx.Connect(ctx, s.Database); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, databases[i].Close(ctx)) }()
	}
	for _, offset := range []int{0, b.size.Links / 2} {
		path := fmt.Sprintf("/urls?limit=%d&offset=%d", pageLinks, offset)
		r, err := b.Compare(ctx, load.Comparison{
			Name: fmt.Sprintf("pages of %d links, from %d", b.size.Links, offset), Unit: "pages",
			Control: "bare SELECT",
			Workers: listers, Each: 1, Server: s.Process,
			Ours: func(ctx context.Context, _ int) error {
				_, err := ours.Call(ctx, http.MethodGet, path, nil)
				return err
			},
			Bare: func(ctx context.Context, worker int) error {
				return selectPage(ctx, databases[worker], s.Lister.ID, b.size.Links-offset)
			},
		})
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

// selectPage reads a page of links whose numbers are less than before, newest first.
func selectPage(ctx context.Context, db *pgx.Conn, account string, before int) error {
	const query = `SELECT * FROM linkledger.links
WHERE account_id = $1 AND deleted_at IS NULL AND number < $2
ORDER BY number DESC LIMIT $3`
	rows, err := db.Query(ctx, query, account, before, pageLinks)
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
	if found != pageLinks {
		return fmt.Errorf("%d rows before link %d; want %d", found, before, pageLinks)
	}
	return nil
}
