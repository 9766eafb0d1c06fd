// Package accounts opens, changes and erases accounts, makes and checks their API keys, and decides
// who is a member.
package accounts

import (
	"regexp"
	"time"

	"linkledger/commands/access"
	"linkledger/events"
)

var usernamePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// Account is the state of one account, folded from its stream.
type Account struct {
	ID             string
	Username       string
	Plan           string
	Keys           []Key    // in the order in which they were added, also the revoked ones
	Members        []Member // also of an erased account, where they may do nothing
	Active         bool
	ExpirationDate string // YYYY-MM-DD in UTC, the last day on which it works; empty: none
	Erased         bool   // its notes are deleted, and it cannot be used

	unsure bool // Active may be wrong, because an event that cannot be decoded may change it
}

func fold(history []events.Event) Account {
	var a Account
	for _, e := range history {
		switch e := e.(type) {
		case events.AccountOpened:
			a = Account{ID: e.Account, Username: e.Username, Plan: e.Plan, Active: true}
			a.Keys = append(a.Keys, Key{ID: e.KeyID, Hash: e.KeyHash, AddedAt: e.At})
		case events.KeyRotated:
			for i := range a.Keys {
				a.Keys[i].revoke(e.At)
			}
			a.Keys = append(a.Keys, Key{ID: e.KeyID, Hash: e.KeyHash, AddedAt: e.At})
		case events.KeyAdded:
			a.Keys = append(
				a.Keys, Key{KeyTerms: e.KeyTerms, ID: e.KeyID, Hash: e.KeyHash, AddedAt: e.At},
			)
		case events.KeyChanged:
			if key := a.key(e.KeyID); key != nil {
				key.KeyTerms = e.KeyTerms
			}
		case events.KeyRevoked:
			if key := a.key(e.KeyID); key != nil {
				key.revoke(e.At)
			}
		case events.MemberSet:
			a.setMember(Member{User: e.User, Role: access.Role(e.Role), Group: e.Group})
		case events.MemberRemoved:
			a.removeMember(e.User)
		case events.PlanChanged:
			a.Plan = e.Plan
		case events.AccountExpiryChanged:
			a.ExpirationDate = e.ExpirationDate
		case events.AccountDeactivated:
			a.Active = false
		case events.AccountReactivated:
			a.Active = true
		case events.AccountErased:
			a.Erased = true
		}
	}
	return a
}

// Change is a change of an account. Nil fields change nothing.
type Change struct {
	Plan           *string
	ExpirationDate *string // YYYY-MM-DD in UTC, the last day on which it works; empty: none
}

func (a Account) edit(edit Change, at time.Time) []events.Event {
	var changes []events.Event
	if edit.Plan != nil && *edit.Plan != a.Plan {
		changes = append(changes, events.PlanChanged{Plan: *edit.Plan, At: at})
	}
	if edit.ExpirationDate != nil && *edit.ExpirationDate != a.ExpirationDate {
		changes = append(
			changes, events.AccountExpiryChanged{ExpirationDate: *edit.ExpirationDate, At: at},
		)
	}
	return changes
}
