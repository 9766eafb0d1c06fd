package links_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/uptrace/bun"
	"pgregory.net/rapid"

	"linkledger/projections"
	"linkledger/projections/foldtest"
	"linkledger/projections/logtest"
	"linkledger/projections/readmodel"
)

// TestFold draws histories, delivers them in all ways, and compares links, counts and sets with the expected ones.
func TestFold(t *testing.T) {
	t.Parallel()
	w := foldtest.New(t, projections.Links)
	rapid.Check(t, func(t *rapid.T) {
		h := logtest.Draw(t)
		w.FoldInAllWays(t, h.Log, func(ctx context.Context) {
			checkLinks(ctx, h, w.Rows())
			checkCounts(ctx, h, w.Rows())
			checkSets(ctx, w, t)
		})
	})
}

func checkLinks(ctx context.Context, h *logtest.History, db *bun.DB) {
	var rows []readmodel.Link
	if err := db.NewSelect().Model(&rows).ModelTableExpr("?schema.links AS link").Order("position").Scan(
		ctx,
	); err != nil {
		h.T.Fatalf("links: %v", err)
	}
	if len(rows) != len(h.Links) {
		h.T.Fatalf("%d links, want %d", len(rows), len(h.Links))
	}
	for i, row := range rows {
		want := h.Links[i]
		got := fmt.Sprint(
			row.ID, row.AccountID, row.Hash, row.LongURL, row.Note, row.TagIDs, !row.DeletedAt.IsZero(), row.Revision,
		)
		if expected := fmt.Sprint(want.ID, want.Account.ID, want.Hash, want.LongURL, want.Note, want.Tags, want.Deleted,
			want.Revision); got != expected {
			h.T.Fatalf("link\n%s, want\n%s", got, expected)
		}
		var batches []string
		if err := db.NewSelect().TableExpr("?schema.link_batches").Column("batch").Where("url_id = ?", want.ID).
			Order("batch").Scan(ctx, &batches); err != nil {
			h.T.Fatalf("batches: %v", err)
		}
		slices.Sort(want.Batches)
		if !slices.Equal(batches, want.Batches) {
			h.T.Fatalf("link of batches %v, want %v", batches, want.Batches)
		}
	}
}

// checkCounts compares the counts of all accounts that have had links.
func checkCounts(ctx context.Context, h *logtest.History, db *bun.DB) {
	for _, want := range h.Accounts {
		created := int64(0)
		for _, link := range h.Links {
			if link.Account == want {
				created++
			}
		}
		got := make([]int64, 3)
		err := db.NewRaw(
			"SELECT created, restorations, deletions FROM ?schema.link_tallies WHERE account_id = ?", want.ID,
		).
			Scan(ctx, &got[0], &got[1], &got[2])
		if err != nil && (created > 0 || !errors.Is(err, sql.ErrNoRows)) {
			h.T.Fatalf("counts of links: %v", err)
		}
		if expected := []int64{
			created, want.URLs + want.Deletions - created, want.Deletions,
		}; !slices.Equal(got, expected) {
			h.T.Fatalf("created, restored and deleted: %d, want %d", got, expected)
		}
	}
}
