package linklist

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"linkledger/queries/asof"
	"linkledger/queries/linkset"
	"linkledger/queries/tagexpr"
)

// UnknownTagError means that an expression names a tag that the account does not have.
type UnknownTagError struct {
	Label string
}

// Error implements error.
func (e *UnknownTagError) Error() string { return fmt.Sprintf("There is no tag %q", e.Label) }

// tagged returns the query for the account's live links at a time, or for those that match an
// expression. It returns an *UnknownTagError if the account did not have a tag of the expression
// then.
func (r *Reader) tagged(
	ctx context.Context, account uuid.UUID, expr *tagexpr.Expr, at asof.Time,
) (*linkset.Query, error) {
	bits := linkset.Clause{SQL: "bit_or(bits) FILTER (WHERE name = 'live')"}
	rows := linkset.Clause{SQL: "name = 'live'"}
	if expr != nil {
		tagID, err := r.tagIDs(ctx, account, expr, at)
		if err != nil {
			return nil, err
		}
		matching, bitsArgs, read, rowsArgs := expr.SQL(tagID)
		bits = linkset.Clause{SQL: bits.SQL + " & (" + matching + ")", Args: bitsArgs}
		rows = linkset.Clause{SQL: rows.SQL + " OR " + read, Args: rowsArgs}
	}
	return linkset.NewQuery(r.db, account, at, bits, rows), nil
}

// clicked returns the query for the account's links with clicks since their last reset.
func (r *Reader) clicked(account uuid.UUID) *linkset.Query {
	return linkset.Union(r.db, account, asof.Now, "name = 'clicked'")
}

// tagIDs returns a function that gives the id of each tag of an expression. Tags are found by label
// under Unicode simple case folding.
func (r *Reader) tagIDs(
	ctx context.Context, account uuid.UUID, expr *tagexpr.Expr, at asof.Time,
) (func(label string) uuid.UUID, error) {
	labels := expr.Labels()
	if len(labels) == 0 {
		return nil, nil //nolint:nilnil // without labels it is never called
	}
	tags, err := r.queries.TagsAt(ctx, account, at)
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
