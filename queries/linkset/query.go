package linkset

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"linkledger/projections/readmodel"
	"linkledger/queries/asof"
)

// Clause is a part of an SQL statement with its arguments.
type Clause struct {
	SQL  string
	Args []any
}

// Query reads a set of an account's links from the read models.
type Query struct {
	db   *readmodel.DB
	sql  string
	args []any
	// without are links to leave out of the set, even if the read models have them in it.
	without Set
}

// NewQuery returns a query that computes a set of links block by block, as of a time. The condition
// rows selects the sets that the query reads. The expression bits aggregates their rows of one
// block.
func NewQuery(db *readmodel.DB, account uuid.UUID, at asof.Time, bits, rows Clause) *Query {
	sets := at.Sets("account_id = ? AND (" + rows.SQL + ") AND block BETWEEN ? AND ?")
	return &Query{
		db:   db,
		args: slices.Concat(bits.Args, []any{account}, rows.Args),
		sql: `SELECT block, substring(varbit_send(met) FROM 5) AS bits FROM (
			SELECT block, ` + bits.SQL + ` AS met FROM ` + sets + `
			GROUP BY block) AS blocks
		WHERE met IS NOT NULL ORDER BY block`,
	}
}

// Union returns the query for the links that are in any of the sets that a condition selects, as of
// a time.
func Union(
	db *readmodel.DB, account uuid.UUID, at asof.Time, condition string, args ...any,
) *Query {
	return NewQuery(
		db, account, at, Clause{SQL: "bit_or(bits)"}, Clause{SQL: condition, Args: args},
	)
}

// Without leaves links out of the set.
func (q *Query) Without(links Set) *Query {
	q.without = links
	return q
}

// maxNumber is the highest number that a link can have.
const maxNumber = 1<<31 - 1

// All returns the links of the set.
func (q *Query) All(ctx context.Context) (Set, error) { return q.Between(ctx, 0, maxNumber) }

// Between returns the links of the set whose numbers lie between from and to, both included. It
// also returns further links of the set that are in the same blocks as these numbers.
func (q *Query) Between(ctx context.Context, from, to int) (Set, error) {
	var rows []struct {
		Block int    `bun:"block"`
		Bits  []byte `bun:"bits"`
	}
	blocks := []any{from / readmodel.SetBlock, to / readmodel.SetBlock}
	if err := q.db.NewRaw(q.sql, slices.Concat(q.args, blocks)...).Scan(ctx, &rows); err != nil {
		return nil, err
	}
	var set Set
	for _, row := range rows {
		set = set.grown((row.Block + 1) * readmodel.SetBlock / wordBits)
		copy(set[row.Block*readmodel.SetBlock/8:], row.Bits)
	}
	if len(q.without) > 0 {
		set = set.Minus(q.without)
	}
	return set, nil
}

// Meeting returns the names of the sets, as of a time, that contain one of the given links. The
// condition selects the sets to compare.
func Meeting(
	ctx context.Context, db *readmodel.DB, account uuid.UUID, at asof.Time, condition string,
	links Set,
) (names []string, err error) {
	err = db.NewRaw(`
		SELECT DISTINCT name FROM (
			SELECT name, block, bits FROM `+at.Sets("account_id = ? AND "+condition)+`) AS sets
		WHERE bits & substring(?::varbit FROM block * 2048 + 1 FOR 2048)::bit(2048)
			<> repeat('0', 2048)::bit(2048)`,
		account, "x"+hex.EncodeToString(links)).Scan(ctx, &names)
	return names, err
}

// Matching returns the links that are in the set and in the result of a query of links. The query
// returns them as one array, because reading thousands of rows takes longer than finding them.
func (s Set) Matching(ctx context.Context, links *bun.SelectQuery) (Set, error) {
	// PostgreSQL sends an array of integers with a header and elements of these sizes, in bytes.
	// The last 4 bytes of an element are the integer.
	const header, element = 20, 8
	var array []byte
	err := links.ColumnExpr("array_send(linkledger.parallel_array_agg(link.number))").
		Scan(ctx, &array)
	matching := make(Set, len(s))
	for at := header; at < len(array); at += element {
		if n := int(binary.BigEndian.Uint32(array[at+element-4:])); s.Has(n) {
			matching[n/8] |= 0x80 >> (n % 8)
		}
	}
	return matching, err
}
