package tagexpr

import "time"

// Folder computes a value of an expression from the values of its parts.
type Folder[T any] struct {
	Tag, Flag     func(name string) T // name is a label or a flag
	After, Before func(day time.Time) T
	Not           func(of T) T
	And, Or, Xor  func(left, right T) T
}

// Fold returns the value of an expression.
func Fold[T any](e *Expr, f Folder[T]) T { return f.of(e.root) }

func (f *Folder[T]) of(n *node) T {
	switch n.operation {
	case hasTag:
		return f.Tag(n.label)
	case hasFlag:
		return f.Flag(string(n.flag))
	case after:
		return f.After(n.day)
	case before:
		return f.Before(n.day)
	case not:
		return f.Not(f.of(n.left))
	case and:
		return f.And(f.of(n.left), f.of(n.right))
	case xor:
		return f.Xor(f.of(n.left), f.of(n.right))
	case or:
	}
	return f.Or(f.of(n.left), f.of(n.right))
}

// Subject is what an expression can match, such as a link.
type Subject struct {
	Has       func(label string) bool // whether the subject has the tag that a label means
	Flag      func(name string) bool
	CreatedAt time.Time
}

// Matches reports whether a subject matches the expression.
func (e *Expr) Matches(s Subject) bool {
	created := s.CreatedAt.UTC().Truncate(24 * time.Hour)
	return Fold(e, Folder[bool]{
		Tag:    s.Has,
		Flag:   s.Flag,
		After:  created.After,
		Before: created.Before,
		Not:    func(of bool) bool { return !of },
		And:    func(left, right bool) bool { return left && right },
		Or:     func(left, right bool) bool { return left || right },
		Xor:    func(left, right bool) bool { return left != right },
	})
}

// And returns an expression for the subjects that match both left and right. A nil left or right
// matches every subject. And returns nil if both are nil.
func And(left, right *Expr) *Expr {
	switch {
	case left == nil:
		return right
	case right == nil:
		return left
	}
	return &Expr{root: &node{operation: and, left: left.root, right: right.root}}
}

// CreatedAfter returns the expression that matches links created after a day.
func CreatedAfter(day time.Time) *Expr { return &Expr{root: &node{operation: after, day: day}} }
