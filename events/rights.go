package events

// endings are events that end rights of a key, a member, an account or a person. KeyRotated is in
// the list, because it ends all keys of an account. An event that replaces rights, such as
// KeyChanged, is not in the list, although it may narrow them.
var endings = []Event{
	KeyRevoked{},
	KeyRotated{},
	MemberRemoved{},
	AccountDeactivated{},
	AccountErased{},
	UserErased{},
}

// EndsRights reports whether an event ends rights. A projection of rights applies such an event
// even if earlier events of the stream cannot be applied, because a right MUST NOT outlive its end.
func EndsRights(e Event) bool {
	for _, ending := range endings {
		if e.EventType() == ending.EventType() {
			return true
		}
	}
	return false
}

// EndingTypes returns the types of the events for which EndsRights is true.
func EndingTypes() []string {
	types := make([]string, len(endings))
	for i, ending := range endings {
		types[i] = ending.EventType()
	}
	return types
}

// IsErasure reports whether an event erases the notes of an account.
func IsErasure(e Event) bool {
	_, ok := e.(AccountErased)
	return ok
}

// EndsLink reports whether an event ends a link. A projection of links applies such an event even
// if earlier events of the stream cannot be applied, because a link MUST NOT outlive its end.
func EndsLink(e Event) bool {
	_, ok := e.(URLDeleted)
	return ok
}
