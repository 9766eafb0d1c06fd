package accounts

// This file finds who made a key. What persons may not do, their keys may not do for them either.

import (
	"encoding/json"

	"linkledger/commands/domain"
	"linkledger/commands/streams"
	"linkledger/events"
)

// nameMakers sets the maker of each key from the metadata of the events that added keys. A key
// whose metadata cannot be decoded gets no maker.
func (a *Account) nameMakers(loaded streams.History) {
	for i, recorded := range loaded.Recorded {
		added, ok := loaded.Events[i].(events.KeyAdded)
		if !ok {
			continue
		}
		var by events.Metadata
		if err := json.Unmarshal(recorded.Metadata, &by); err != nil {
			continue
		}
		if key := a.key(added.KeyID); key != nil {
			key.Maker = a.personBehind(by.User, by.Key)
		}
	}
}

// person returns the id of the person behind a call: the person who calls, or the person who made
// the key of the call. The id is empty if no person is known.
func (a *Account) person(r domain.Request) string {
	if r.Operator {
		return r.User
	}
	return a.personBehind(r.User, r.Key)
}

func (a *Account) personBehind(user, key string) string {
	if user != "" {
		return user
	}
	if k := a.key(key); k != nil {
		return k.Maker
	}
	return ""
}
