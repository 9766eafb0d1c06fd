package domain

import (
	"slices"
)

// Clone returns a copy that shares no memory with the link.
func (u Link) Clone() Link {
	u.Tags = slices.Clone(u.Tags)
	spent := u.Spent
	u.Spent = nil
	for hash, claim := range spent {
		u.markSpent(hash, claim)
	}
	return u
}
