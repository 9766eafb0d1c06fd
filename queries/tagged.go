package queries

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"linkledger/projections/readmodel"
	"linkledger/queries/tagexpr"
)

// UnknownTagError means that an expression names a tag that the account does not have.
type UnknownTagError struct {
	Label string
}

// Error implements error.
func (e *UnknownTagError) Error() string { return fmt.Sprintf("There is no tag %q", e.Label) }

// tagged is a question for sets of an account's links.
type tagged struct {
	q       *DB
	account uuid.UUID
	sql     string
	args    []any
}

// tagged returns the question for the account's live links at a time, or for those that meet an expression. A tag that the
// account does not have then is an *UnknownTagError.
func (q *DB) tagged(ctx context.Context, account uuid.UUID, expr *tagexpr.Expr, at moment) (*tagged, error) {
	t := &tagged{q: q, account: account}
	bits, rows := "bit_or(bits) FILTER (WHERE name = 'live')", "name = 'live'"
	var bitsArgs, rowsArgs []any
	if expr != nil {
		tagID, err := q.tagIDs(ctx, account, expr, at)
		if err != nil {
			return nil, err
		}
		var met, read string
		met, bitsArgs, read, rowsArgs = expr.SQL(tagID)
		bits, rows = bits+" & ("+met+")", rows+" OR "+read
	}
	t.sql, t.args = setsSQL(at, bits, rows), append(append(bitsArgs, account), rowsArgs...)
	return t, nil
}

// clicked returns the question for the account's links with clicks since their last reset.
func (q *DB) clicked(account uuid.UUID) *tagged {
	return &tagged{q: q, account: account, sql: setsSQL(now, "bit_or(bits)", "name = 'clicked'"), args: []any{account}}
}

// setsSQL computes bits for each block from the sets at a time that are chosen by a condition.
func setsSQL(at moment, bits, rows string) string {
	return `SELECT block, substring(varbit_send(met) FROM 5) AS bits FROM (
			SELECT block, ` + bits + ` AS met FROM ` + at.sets(`account_id = ? AND (`+rows+`) AND block BETWEEN ? AND ?`) + `
			GROUP BY block) AS blocks
		WHERE met IS NOT NULL ORDER BY block`
}

// all returns the links of the set as it is now.
func (t *tagged) all(ctx context.Context) (linkSet, error) { return t.between(ctx, 0, maxNumber) }

// maxNumber is the highest that a link can have.
const maxNumber = 1<<31 - 1

// between returns only those of the blocks from one number to another.
func (t *tagged) between(ctx context.Context, from, to int) (linkSet, error) {
	var rows []struct {
		Block int    `bun:"block"`
		Bits  []byte `bun:"bits"`
	}
	args := append(t.args[:len(t.args):len(t.args)], from/readmodel.SetBlock, to/readmodel.SetBlock)
	if err := t.q.db.NewRaw(t.sql, args...).Scan(ctx, &rows); err != nil {
		return nil, err
	}
	var set linkSet
	for _, row := range rows {
		set = set.grown((row.Block + 1) * readmodel.SetBlock / wordBits)
		copy(set[row.Block*readmodel.SetBlock/8:], row.Bits)
	}
	return set, nil
}

// tagIDs returns the ids of the tags that an expression names, which are found by label under Unicode simple case folding.
func (q *DB) tagIDs(ctx context.Context, account uuid.UUID, expr *tagexpr.Expr, at moment) (func(label string) uuid.UUID, error) {
	labels := expr.Labels()
	if len(labels) == 0 {
		return nil, nil //nolint:nilnil // nothing will be looked up
	}
	tags, err := q.tagsAt(ctx, account, at)
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
