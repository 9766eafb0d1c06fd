package linklist

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun/dialect/pgdialect"

	"linkledger/queries/asof"
	"linkledger/queries/linkset"
	"linkledger/queries/tagexpr"
)

// Selection is the links of an account that met an expression when it was made, read in portions.
// It holds one bit for each link of the account; no lock, no connection.
type Selection struct {
	reader   *Reader
	account  uuid.UUID
	tagged   *linkset.Query
	selected linkset.Set
	read     int // links of met that the portions so far have passed
}

// Select starts a selection of the account's live links. Links that are created afterwards are not
// in it; one that is changed before its portion is read is judged as it is then. A tag that the
// account does not have is an *UnknownTagError.
func (r *Reader) Select(
	ctx context.Context, account uuid.UUID, expr *tagexpr.Expr,
) (*Selection, error) {
	tagged, err := r.tagged(ctx, account, expr, asof.Now)
	if err != nil {
		return nil, err
	}
	selected, err := tagged.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("selection: %w", err)
	}
	return &Selection{reader: r, account: account, tagged: tagged, selected: selected}, nil
}

// Next returns the ids of the next portion, at most limit, the oldest first. After the last one
// there are none.
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
		if err := s.reader.db.NewSelect().TableExpr("linkledger.links").ColumnExpr("id").
			Where("account_id = ?", s.account).Where("deleted_at IS NULL").
			Where("number = ANY(?::integer[])", pgdialect.Array(numbers)).OrderExpr("number").Scan(
			ctx, &ids,
		); err != nil {
			return nil, fmt.Errorf("selection: %w", err)
		}
		if len(ids) > 0 {
			return ids, nil
		}
	}
}
