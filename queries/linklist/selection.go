package linklist

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun/dialect/pgdialect"

	"linkledger/queries/asof"
	"linkledger/queries/linkset"
	"linkledger/tagexpr"
)

// Selection is the set of an account's links that matched an expression when Select was called. It
// is read in portions. It holds one bit for each link of the account, but neither a lock nor a
// connection.
type Selection struct {
	reader   *Reader
	of       Owner
	tagged   *linkset.Query
	selected linkset.Set
	read     int // links of selected that were read
}

// Select makes a selection of the owner's live links that match an expression. Links that are
// created afterwards are not in it. Next leaves out links that no longer match when it reads their
// portion. Select returns an *UnknownTagError if the account does not have a tag of the expression.
func (r *Reader) Select(
	ctx context.Context, of Owner, expr *tagexpr.Expr,
) (*Selection, error) {
	tagged, err := r.tagged(ctx, of, expr, asof.Now)
	if err != nil {
		return nil, err
	}
	selected, err := tagged.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("selection: %w", err)
	}
	return &Selection{reader: r, of: of, tagged: tagged, selected: selected}, nil
}

// Next returns the ids of the next portion, at most limit, the oldest first. It returns none after
// the last portion.
func (s *Selection) Next(ctx context.Context, limit int) ([]uuid.UUID, error) {
	for {
		numbers := s.selected.Numbers(s.read, limit, true)
		if len(numbers) == 0 {
			return nil, nil
		}
		s.read += len(numbers)
		still, err := s.tagged.Between(ctx, numbers[0], numbers[len(numbers)-1])
		if err != nil {
			return nil, fmt.Errorf("selection: %w", err)
		}
		numbers = slices.DeleteFunc(numbers, func(n int) bool { return !still.Has(n) })
		if len(numbers) == 0 {
			continue
		}
		var ids []uuid.UUID
		err = s.reader.db.NewSelect().TableExpr("linkledger.links").ColumnExpr("id").
			Where("account_id = ?", s.of.Account).Where("deleted_at IS NULL").
			Where("number = ANY(?::integer[])", pgdialect.Array(numbers)).OrderExpr("number").
			Scan(ctx, &ids)
		if err != nil {
			return nil, fmt.Errorf("selection: %w", err)
		}
		if len(ids) > 0 {
			return ids, nil
		}
	}
}
