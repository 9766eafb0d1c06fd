package linklist

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"golang.org/x/text/unicode/norm"

	"linkledger/projections/readmodel"
	"linkledger/queries"
	"linkledger/queries/asof"
	"linkledger/queries/linkset"
	"linkledger/tagexpr"
	"linkledger/typed"
)

// Owner is an account whose links are read, with the bound of the key that reads them.
type Owner struct {
	Account uuid.UUID
	Bound   *tagexpr.Expr // only links that match; nil: all
}

// UnknownTagError means that an expression names a tag that the account does not have.
type UnknownTagError struct {
	Label string
}

// Error implements error.
func (e *UnknownTagError) Error() string { return fmt.Sprintf("There is no tag %q", e.Label) }

// tagged returns the query for the account's links that were live at a time and match an
// expression. A nil expression matches all links. It returns an *UnknownTagError if the expression
// names a tag that the account did not have at the time.
func (r *Reader) tagged(
	ctx context.Context, of Owner, expr *tagexpr.Expr, at asof.Time,
) (*linkset.Query, error) {
	bits := linkset.Clause{SQL: "bit_or(bits) FILTER (WHERE name = 'live')"}
	rows := linkset.Clause{SQL: "name = 'live'"}
	restrict := func(to *tagexpr.Expr, tagID func(string) uuid.UUID) {
		matching, read := setsOf(to, tagID)
		bits = linkset.Clause{
			SQL:  bits.SQL + " & (" + matching.SQL + ")",
			Args: slices.Concat(bits.Args, matching.Args),
		}
		rows = linkset.Clause{
			SQL: rows.SQL + " OR " + read.SQL, Args: slices.Concat(rows.Args, read.Args),
		}
	}
	var hidden linkset.Set
	if of.Bound != nil {
		known, err := r.boundTags(ctx, of.Account, at)
		if err != nil {
			return nil, err
		}
		tagID := boundTagIDs(of.Bound, known.tags)
		if matchesNothing(of.Bound, known, tagID) {
			bits = linkset.Clause{SQL: "repeat('0', 2048)::bit(2048)"}
		}
		restrict(of.Bound, tagID)
		hidden = linkset.Of(known.links)
	}
	if expr != nil {
		tagID, err := r.tagIDs(ctx, of, expr, at)
		if err != nil {
			return nil, err
		}
		restrict(expr, tagID)
	}
	return linkset.NewQuery(r.db, of.Account, at, bits, rows).Without(hidden), nil
}

// clicked returns the query for the account's links with clicks since their last reset.
func (r *Reader) clicked(account uuid.UUID) *linkset.Query {
	return linkset.Union(r.db, account, asof.Now, "name = 'clicked'")
}

// tagIDs returns a function that gives the id of each tag of an expression. It returns an
// *UnknownTagError if a tag is not among those that Tags returns for the owner.
func (r *Reader) tagIDs(
	ctx context.Context, of Owner, expr *tagexpr.Expr, at asof.Time,
) (func(label string) uuid.UUID, error) {
	labels := expr.Labels()
	if len(labels) == 0 {
		return nil, nil //nolint:nilnil // without labels it is never called
	}
	tags, err := r.tags(ctx, of, at)
	if err != nil {
		return nil, err
	}
	ids := labelled(tags, labels)
	for _, label := range labels {
		if _, ok := ids[label]; !ok {
			return nil, &UnknownTagError{Label: label}
		}
	}
	return func(label string) uuid.UUID { return ids[label] }, nil
}

// matchesNothing reports whether a bound is taken to match no link. This is so if a tag that the
// bound names may have been renamed, because links that the bound hides could then be seen. A
// renaming is possible if the bound excludes a label that no tag has, or if it has labels while
// changes of the tags are set aside.
func matchesNothing(
	bound *tagexpr.Expr, known boundTags, tagID func(string) uuid.UUID,
) bool {
	return known.outdated && len(bound.Labels()) > 0 || slices.ContainsFunc(
		bound.Excluded(), func(label string) bool { return tagID(label) == uuid.Nil },
	)
}

// boundTagIDs returns a function that gives the id of each tag of a bound. A tag that does not
// exist has the zero id, which matches no link.
func boundTagIDs(bound *tagexpr.Expr, tags []queries.Tag) func(label string) uuid.UUID {
	ids := labelled(tags, bound.Labels())
	return func(label string) uuid.UUID { return ids[label] }
}

// labelled returns the ids of the tags that labels mean, by label: see typed.Meant.
func labelled(tags []queries.Tag, labels []string) map[string]uuid.UUID {
	ids := make(map[string]uuid.UUID, len(labels))
	same := make(map[string][]queries.Tag, len(labels)) // by folded label
	for _, label := range labels {
		same[typed.Fold(label)] = nil
	}
	if len(same) == 0 {
		return ids
	}
	for _, tag := range tags {
		key := typed.Fold(tag.Label)
		if found, asked := same[key]; asked {
			same[key] = append(found, tag)
		}
	}
	for _, label := range labels {
		found := same[typed.Fold(label)]
		spelled := make([]string, len(found))
		for i, tag := range found {
			spelled[i] = tag.Label
		}
		if meant := typed.Meant(norm.NFC.String(label), spelled); meant >= 0 {
			ids[label] = found[meant].ID
		}
	}
	return ids
}

// Tags returns the tags of the account in the order of their creation. If the owner is bound, it
// returns only tags of links that match the bound.
func (r *Reader) Tags(ctx context.Context, of Owner) ([]queries.Tag, error) {
	return r.tags(ctx, of, asof.Now)
}

func (r *Reader) tags(ctx context.Context, of Owner, at asof.Time) ([]queries.Tag, error) {
	tags, err := r.queries.TagsAt(ctx, of.Account, at)
	if err != nil || of.Bound == nil {
		return tags, err
	}
	within, err := r.tagged(ctx, of, nil, at)
	if err != nil {
		return nil, err
	}
	links, err := within.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("tags: %w", err)
	}
	sets, err := linkset.Meeting(ctx, r.db, of.Account, at, readmodel.TagSets, links)
	if err != nil {
		return nil, fmt.Errorf("tags: %w", err)
	}
	return slices.DeleteFunc(tags, func(tag queries.Tag) bool {
		return !slices.Contains(sets, readmodel.SetOfTag(tag.ID))
	}), nil
}
