package tagexpr

import (
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bun/dialect/pgdialect"

	"linkledger/projections/readmodel"
)

// SQL returns the set of links that meet the expression, as an operation on the bits of the rows of
// linkledger.link_sets that belong to one block, and the condition that keeps the rows that it
// reads. Question marks stand for the arguments. tagID gives the tag of each label that Labels
// returns.
func (e *Expr) SQL(
	tagID func(label string) uuid.UUID,
) (bits string, bitsArgs []any, rows string, rowsArgs []any) {
	c := compiler{tagID: tagID}
	c.add(e.root)
	rows, rowsArgs = "name = ANY(?::text[])", []any{pgdialect.Array(c.names)}
	if c.days {
		rows, rowsArgs = rows+" OR name > ? AND name < ?", append(
			rowsArgs, readmodel.BeforeDays, readmodel.AfterDays,
		)
	}
	return c.sql.String(), c.args, rows, rowsArgs
}

type compiler struct {
	tagID func(string) uuid.UUID
	sql   strings.Builder
	args  []any
	names []string // of the sets that are read
	days  bool     // all sets of days are read too
}

var sqlOperators = map[operation]string{and: " & ", or: " | ", xor: " # "}

func (c *compiler) add(n *node) {
	switch n.operation {
	case hasTag:
		c.set(readmodel.SetOfTag(c.tagID(n.label)))
	case hasFlag:
		c.set(string(n.flag))
	case after:
		c.between(readmodel.SetOfDay(n.day), readmodel.AfterDays)
	case before:
		c.between(readmodel.BeforeDays, readmodel.SetOfDay(n.day))
	case not:
		c.sql.WriteString("~ ")
		c.group(n.left)
	case and, or, xor:
		c.group(n.left)
		c.sql.WriteString(sqlOperators[n.operation])
		c.group(n.right)
	}
}

func (c *compiler) group(n *node) {
	c.sql.WriteByte('(')
	c.add(n)
	c.sql.WriteByte(')')
}

func (c *compiler) set(name string) {
	c.names = append(c.names, name)
	c.union("name = ?", name)
}

// between is the union of the sets of the days between two names, without these.
func (c *compiler) between(after, before string) {
	c.days = true
	c.union("name > ? AND name < ?", after, before)
}

// union is that of the sets that meet a condition; of none it is empty.
func (c *compiler) union(condition string, args ...any) {
	c.sql.WriteString(
		"coalesce(bit_or(bits) FILTER (WHERE " + condition + "), repeat('0', 2048)::bit(2048))",
	)
	c.args = append(c.args, args...)
}
