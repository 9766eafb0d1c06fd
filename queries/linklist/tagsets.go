package linklist

import (
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun/dialect/pgdialect"

	"linkledger/projections/readmodel"
	"linkledger/queries/linkset"
	"linkledger/tagexpr"
)

// setsOf returns the SQL for the set of links that match an expression. bits is an aggregate over
// the rows of linkledger.link_sets of one block, and rows is the condition for the rows that bits
// needs. tagID MUST return the id of the tag for each label of the expression.
func setsOf(
	expr *tagexpr.Expr, tagID func(label string) uuid.UUID,
) (bits, rows linkset.Clause) {
	var names []string // of the sets to read
	days := false      // the sets of all days are read too
	union := func(condition string, args ...any) linkset.Clause {
		return linkset.Clause{
			SQL: "coalesce(bit_or(bits) FILTER (WHERE " + condition +
				"), repeat('0', 2048)::bit(2048))",
			Args: args,
		}
	}
	set := func(name string) linkset.Clause {
		names = append(names, name)
		return union("name = ?", name)
	}
	between := func(after, before string) linkset.Clause {
		days = true
		return union("name > ? AND name < ?", after, before)
	}
	infix := func(operator string) func(left, right linkset.Clause) linkset.Clause {
		return func(left, right linkset.Clause) linkset.Clause {
			return linkset.Clause{
				SQL:  "(" + left.SQL + ") " + operator + " (" + right.SQL + ")",
				Args: slices.Concat(left.Args, right.Args),
			}
		}
	}
	bits = tagexpr.Fold(expr, tagexpr.Folder[linkset.Clause]{
		Tag:  func(label string) linkset.Clause { return set(readmodel.SetOfTag(tagID(label))) },
		Flag: set,
		After: func(day time.Time) linkset.Clause {
			return between(readmodel.SetOfDay(day), readmodel.AfterDays)
		},
		Before: func(day time.Time) linkset.Clause {
			return between(readmodel.BeforeDays, readmodel.SetOfDay(day))
		},
		Not: func(of linkset.Clause) linkset.Clause {
			return linkset.Clause{SQL: "~ (" + of.SQL + ")", Args: of.Args}
		},
		And: infix("&"), Or: infix("|"), Xor: infix("#"),
	})
	rows = linkset.Clause{SQL: "name = ANY(?::text[])", Args: []any{pgdialect.Array(names)}}
	if days {
		rows.SQL += " OR name > ? AND name < ?"
		rows.Args = append(rows.Args, readmodel.BeforeDays, readmodel.AfterDays)
	}
	return bits, rows
}
