package queries

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"linkledger/queries/tagexpr"
)

// UnknownTagError means that an expression names a tag that the account does not have.
type UnknownTagError struct {
	Label string
}

// Error implements error.
func (e *UnknownTagError) Error() string { return fmt.Sprintf("There is no tag %q", e.Label) }

// tagIDs returns the ids of the tags that an expression names, which are found by label under Unicode simple case folding.
func (q *DB) tagIDs(ctx context.Context, account uuid.UUID, expr *tagexpr.Expr) (func(label string) uuid.UUID, error) {
	labels := expr.Labels()
	if len(labels) == 0 {
		return nil, nil //nolint:nilnil // nothing will be looked up
	}
	tags, err := q.Tags(ctx, account)
	if err != nil {
		return nil, err
	}
	ids := make(map[string]uuid.UUID, len(labels))
	for _, label := range labels {
		for _, tag := range tags {
			if strings.EqualFold(tag.Label, label) {
				ids[label] = tag.ID
			}
		}
		if _, ok := ids[label]; !ok {
			return nil, &UnknownTagError{Label: label}
		}
	}
	return func(label string) uuid.UUID { return ids[label] }, nil
}

// Selection is the links of an account that met an expression when it was made, read in portions. It holds no more
// than its place: no lock, no connection.
type Selection struct {
	q       *DB
	account uuid.UUID
	where   string
	args    []any
	after   place // of the portion before
	upTo    int64 // position of the newest link
}

// place is where a link stands in the order of creation.
type place struct {
	Position int64     `bun:"position"`
	ID       uuid.UUID `bun:"id"`
}

// Select starts a selection of the account's live links. Links that are created afterwards are not in it; one that is
// changed before its portion is read is judged as it is then. A tag that the account does not have is an
// *UnknownTagError.
func (q *DB) Select(ctx context.Context, account uuid.UUID, expr *tagexpr.Expr) (*Selection, error) {
	tagID, err := q.tagIDs(ctx, account, expr)
	if err != nil {
		return nil, err
	}
	s := &Selection{q: q, account: account, after: place{Position: -1}}
	s.where, s.args = expr.SQL(tagID)
	newest := q.db.NewSelect().TableExpr("linkledger.links").ColumnExpr("position").
		Where("account_id = ?", account).Where("deleted_at IS NULL").OrderExpr("position DESC, id DESC").Limit(1)
	if err := q.db.NewSelect().ColumnExpr("coalesce((?), -1)", newest).Scan(ctx, &s.upTo); err != nil {
		return nil, failed("selection", err)
	}
	return s, nil
}

// Next returns the ids of the next portion, at most limit, the oldest first. After the last one there are none.
func (s *Selection) Next(ctx context.Context, limit int) ([]uuid.UUID, error) {
	var places []place
	err := s.q.db.NewSelect().TableExpr("linkledger.links AS link").ColumnExpr("link.position, link.id").
		Where("link.account_id = ?", s.account).Where("link.deleted_at IS NULL").
		Where("(link.position, link.id) > (?, ?)", s.after.Position, s.after.ID).Where("link.position <= ?", s.upTo).
		Where(s.where, s.args...).OrderExpr("link.position, link.id").Limit(int64(limit)).Scan(ctx, &places)
	if err != nil {
		return nil, failed("selection", err)
	}
	ids := make([]uuid.UUID, len(places))
	for i, p := range places {
		ids[i], s.after = p.ID, p
	}
	return ids, nil
}
