package tagexpr

import (
	"slices"
	"time"

	"linkledger/typed"
)

// Expr is a parsed expression. It is immutable.
type Expr struct {
	root *node
}

// operation is what a node does. The comment on each operation names the fields of the node that
// the operation uses.
type operation int

const (
	hasTag  operation = iota + 1 // label
	hasFlag                      // flag
	after                        // day
	before                       // day
	not                          // left
	and                          // left, right
	xor                          // left, right
	or                           // left, right
)

type node struct {
	operation   operation
	label       string
	flag        flag
	day         time.Time // midnight, UTC
	left, right *node
}

// flag is a property of links that is written like a label.
type flag string

const (
	archived   flag = "archived"
	visited    flag = "visited"
	ping       flag = "ping"
	emailStats flag = "email_stats"
	protected  flag = "protected"
)

var flags = []flag{archived, visited, ping, emailStats, protected}

// operand returns the node of a label, which may name a flag.
func operand(label string) *node {
	if i := slices.IndexFunc(
		flags, func(f flag) bool { return string(f) == typed.Fold(label) },
	); i >= 0 {
		return &node{operation: hasFlag, flag: flags[i]}
	}
	return &node{operation: hasTag, label: label}
}

// Labels returns the labels of the tags in the expression as written, each spelling once.
func (e *Expr) Labels() []string {
	var labels []string
	e.root.walk(func(n *node) {
		if n.operation == hasTag && !slices.Contains(labels, n.label) {
			labels = append(labels, n.label)
		}
	})
	return labels
}

// Excluded returns the labels below a negation or an exclusive or, each spelling once. If no tag
// has such a label, for example after a rename, the expression may match too many subjects.
func (e *Expr) Excluded() []string {
	var labels []string
	e.root.walk(func(n *node) {
		if n.operation == not || n.operation == xor {
			for _, label := range (&Expr{root: n}).Labels() {
				if !slices.Contains(labels, label) {
					labels = append(labels, label)
				}
			}
		}
	})
	return labels
}

// DependsOnClicks reports whether the expression depends on the clicks of links.
func (e *Expr) DependsOnClicks() bool {
	asks := false
	e.root.walk(func(n *node) { asks = asks || n.flag == visited })
	return asks
}

func (n *node) walk(visit func(*node)) {
	if n == nil {
		return
	}
	visit(n)
	n.left.walk(visit)
	n.right.walk(visit)
}
