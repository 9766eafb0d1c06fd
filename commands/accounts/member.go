package accounts

import (
	"slices"
	"time"

	"linkledger/commands/access"
	"linkledger/commands/domain"
	"linkledger/events"
)

// MaxMembers is the maximum number of members of an account.
const MaxMembers = 1000

// Member is a person with a role in an account.
type Member struct {
	User string // id
	Role access.Role
	// Group is the issuer's group that gives the person the role; empty: a caller gave it directly.
	Group string
}

// member returns the member with a user id, or nil.
func (a *Account) member(user string) *Member {
	for i := range a.Members {
		if a.Members[i].User == user {
			return &a.Members[i]
		}
	}
	return nil
}

func (a *Account) setMember(m Member) {
	if known := a.member(m.User); known != nil {
		*known = m
		return
	}
	a.Members = append(a.Members, m)
}

func (a *Account) removeMember(user string) {
	a.Members = slices.DeleteFunc(a.Members, func(m Member) bool { return m.User == user })
}

// set returns the event that gives a person a role. It refuses with InvalidValue if the account has
// too many members.
func (a *Account) set(m Member, at time.Time) ([]events.Event, error) {
	if a.member(m.User) == nil && len(a.Members) >= MaxMembers {
		return nil, domain.Refuse(
			domain.InvalidValue, "An account has at most %d members", MaxMembers,
		)
	}
	return []events.Event{events.MemberSet{
		User: m.User, Role: string(m.Role), Group: m.Group, At: at,
	}}, nil
}
