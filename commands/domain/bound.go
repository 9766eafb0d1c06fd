package domain

import (
	"linkledger/events"
	"linkledger/tagexpr"
)

// Matches reports whether the link matches an expression. has reports whether the link has the tag
// that a label means. The expression MUST NOT depend on clicks. If expr is nil, all links match.
func (u *Link) Matches(expr *tagexpr.Expr, has func(label string) bool) bool {
	return expr == nil || expr.Matches(tagexpr.Subject{
		Has: has, CreatedAt: u.CreatedAt,
		Flag: func(name string) bool {
			for _, s := range events.AllSettings {
				if s.Name == name {
					return s.Get(&u.Settings) == true
				}
			}
			return false
		},
	})
}

// ErrLeavesBound refuses a change after which a link would not match the bound of the caller.
var ErrLeavesBound = &Error{
	Kind: AccessDenied,
	Details: "The key of this call is bound to tags, and the link would not match them: give it " +
		"tags that match, and take none of them off",
}
