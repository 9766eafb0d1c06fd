package linkset

import (
	"context"
	"encoding/binary"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"linkledger/projections/readmodel"
	"linkledger/queries/asof"
)

// Clause is a part of a statement with its arguments.
type Clause struct {
	SQL  string
	Args []any
}

// Query asks for a set of an account's links.
type Query struct {
	db   *readmodel.DB
	sql  string
	args []any
}

// NewQuery asks for bits that are computed for each block, from the sets at a time that are
// chosen by a condition.
func NewQuery(db *readmodel.DB, account uuid.UUID, at asof.Time, bits, rows Clause) *Query {
	args := append(bits.Args[:len(bits.Args):len(bits.Args)], account)
	return &Query{db: db, args: append(
		args, rows.Args...,
	), sql: `SELECT block, substring(varbit_send(met) FROM 5) AS bits FROM (
			SELECT block, ` + bits.SQL + ` AS met FROM ` + at.Sets(
		`account_id = ? AND (`+rows.SQL+`) AND block BETWEEN ? AND ?`,
	) + `
			GROUP BY block) AS blocks
		WHERE met IS NOT NULL ORDER BY block`}
}

// Union asks for the links of all sets at a time that are chosen by a condition.
func Union(
	db *readmodel.DB, account uuid.UUID, at asof.Time, condition string, args ...any,
) *Query {
	return NewQuery(
		db, account, at, Clause{SQL: "bit_or(bits)"}, Clause{SQL: condition, Args: args},
	)
}

// maxNumber is the highest that a link can have.
const maxNumber = 1<<31 - 1

// All returns the links of the set.
func (q *Query) All(ctx context.Context) (Set, error) { return q.Between(ctx, 0, maxNumber) }

// Between returns only those of the blocks from one number to another.
func (q *Query) Between(ctx context.Context, from, to int) (Set, error) {
	var rows []struct {
		Block int    `bun:"block"`
		Bits  []byte `bun:"bits"`
	}
	args := append(q.args[:len(q.args):len(q.args)], from/readmodel.SetBlock, to/readmodel.SetBlock)
	if err := q.db.NewRaw(q.sql, args...).Scan(ctx, &rows); err != nil {
		return nil, err
	}
	var set Set
	for _, row := range rows {
		set = set.grown((row.Block + 1) * readmodel.SetBlock / wordBits)
		copy(set[row.Block*readmodel.SetBlock/8:], row.Bits)
	}
	return set, nil
}

// Matching returns the links of the set that a question is for. They come as one value: thousands of
// rows take longer to read than to find.
func (s Set) Matching(ctx context.Context, links *bun.SelectQuery) (Set, error) {
	// bytes of an array of integers as PostgreSQL sends it; the last 4 of an element are the
	// integer
	const header, element = 20, 8
	var array []byte
	err := links.ColumnExpr("array_send(linkledger.parallel_array_agg(link.number))").Scan(
		ctx, &array,
	)
	matching := make(Set, len(s))
	for at := header; at < len(array); at += element {
		if n := int(binary.BigEndian.Uint32(array[at+element-4:])); s.Has(n) {
			matching[n/8] |= 0x80 >> (n % 8)
		}
	}
	return matching, err
}
