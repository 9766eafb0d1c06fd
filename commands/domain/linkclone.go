package domain

import (
	"slices"
)

// Clone returns a state that shares nothing with one that evolves.
func (u Link) Clone() Link {
	u.Tags = slices.Clone(u.Tags)
	spent := u.Spent
	u.Spent = nil
	for hash, claim := range spent {
		u.markSpent(hash, claim)
	}
	return u
}
