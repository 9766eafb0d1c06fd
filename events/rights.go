package events

// EndsRights reports whether an event ends rights of a key, a member, an account or a person. A
// projection of rights applies it although earlier events of its stream cannot be applied: a right
// MUST NOT outlive its end. KeyRotated counts, because it ends all keys of an account.
func EndsRights(e Event) bool {
	switch e.(type) {
	case KeyRevoked, KeyRotated, MemberRemoved, AccountDeactivated, AccountErased, UserErased:
		return true
	}
	return false
}

// IsErasure reports whether an event erases the notes of an account.
func IsErasure(e Event) bool {
	_, ok := e.(AccountErased)
	return ok
}
