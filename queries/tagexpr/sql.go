package tagexpr

import (
	"strings"
	"time"

	"github.com/google/uuid"
)

// SQL returns the condition that links meet, on the columns of linkledger.links as link, with a question mark for each
// of the arguments. tagID gives the tag of each label that Labels returns.
func (e *Expr) SQL(tagID func(label string) uuid.UUID) (condition string, args []any) {
	c := compiler{tagID: tagID}
	c.add(e.root)
	return c.sql.String(), c.args
}

type compiler struct {
	tagID func(string) uuid.UUID
	sql   strings.Builder
	args  []any
}

// joints are the binary operators. No operand is ever NULL, so unequal truth is exclusive or.
var joints = map[operation]string{and: " AND ", or: " OR ", xor: " <> "}

func (c *compiler) add(n *node) {
	switch n.operation {
	case hasTag:
		c.test("link.tag_ids @> ARRAY[?]::uuid[]", c.tagID(n.label))
	case hasFlag:
		if n.flag == visited {
			c.test("EXISTS (SELECT FROM linkledger.link_stats AS s WHERE s.url_id = link.id AND s.visited)")
			return
		}
		c.test("link." + string(n.flag))
	case after:
		c.test("link.created_at >= ?", n.day.AddDate(0, 0, 1).Format(time.RFC3339))
	case before:
		c.test("link.created_at < ?", n.day.Format(time.RFC3339))
	case not:
		c.sql.WriteString("NOT ")
		c.group(n.left)
	case and, or, xor:
		c.group(n.left)
		c.sql.WriteString(joints[n.operation])
		c.group(n.right)
	}
}

func (c *compiler) group(n *node) {
	c.sql.WriteByte('(')
	c.add(n)
	c.sql.WriteByte(')')
}

func (c *compiler) test(sql string, args ...any) {
	c.sql.WriteString(sql)
	c.args = append(c.args, args...)
}
