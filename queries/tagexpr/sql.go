package tagexpr

import (
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bun/dialect/pgdialect"

	"linkledger/projections/readmodel"
)

// SQL returns the set of links that match the expression as an aggregate over the rows of
// linkledger.link_sets of one block, and the condition for the rows that it needs. Question marks
// stand for the arguments. tagID MUST return the tag of each label that Labels returns.
func (e *Expr) SQL(
	tagID func(label string) uuid.UUID,
) (bits string, bitsArgs []any, rows string, rowsArgs []any) {
	c := compiler{tagID: tagID}
	c.add(e.root)
	rows, rowsArgs = "name = ANY(?::text[])", []any{pgdialect.Array(c.names)}
	if c.days {
		rows += " OR name > ? AND name < ?"
		rowsArgs = append(rowsArgs, readmodel.BeforeDays, readmodel.AfterDays)
	}
	return c.sql.String(), c.args, rows, rowsArgs
}

type compiler struct {
	tagID func(string) uuid.UUID
	sql   strings.Builder
	args  []any
	names []string // of the sets to read
	days  bool     // the sets of all days are read too
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

// between adds the union of the sets of the days between two names, both excluded.
func (c *compiler) between(after, before string) {
	c.days = true
	c.union("name > ? AND name < ?", after, before)
}

// union adds the union of the sets that match a condition, which is empty if none does.
func (c *compiler) union(condition string, args ...any) {
	c.sql.WriteString(
		"coalesce(bit_or(bits) FILTER (WHERE " + condition + "), repeat('0', 2048)::bit(2048))",
	)
	c.args = append(c.args, args...)
}
