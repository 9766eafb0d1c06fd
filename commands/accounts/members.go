package accounts

import (
	"context"

	"linkledger/commands/access"
	"linkledger/commands/domain"
	"linkledger/events"
	"linkledger/events/eventstore"
)

// SetMember gives a person a role in an account. The person MUST exist. A caller can only give a
// role, or change a member, that may do no more than the caller. A person who has no role, or has a
// role through a group, cannot give themselves a direct role, not even with a key that they made:
// another caller must give it. An operator without a role is excepted. SetMember refuses with
// InvalidValue, AccessDenied and AccountGone.
func (s *Accounts) SetMember(
	ctx context.Context, r domain.Request, account string, m Member,
) (eventstore.Position, error) {
	outcome, err := s.changeByID(ctx, r, s.whole, account, func(a Account) ([]events.Event, error) {
		if a.ID == "" || a.Erased {
			return nil, erasedError(a.Username)
		}
		if err := a.mayGrant(r, access.Members, m.Role.Terms()); err != nil {
			return nil, err
		}
		known := a.member(m.User)
		if known != nil {
			if err := a.mayGrant(r, access.Members, known.Role.Terms()); err != nil || *known == m {
				return nil, err
			}
		}
		// A person who calls without a key is a member or an operator. So a person who is neither
		// has left the account, and calls with a key that they made.
		given := known != nil && known.Group == "" || known == nil && r.Operator
		if a.person(r) == m.User && !given {
			return nil, errOwnRole
		}
		return a.set(m, s.streams.Now())
	})
	return outcome.Position, err
}

var errOwnRole = domain.Refuse(
	domain.AccessDenied, "A person without a role in the account, or with a role by a group, "+
		"cannot take a direct role, also not by a key that they made: ask another owner",
)

// RemoveMember ends the membership of a person in an account. A caller can only remove a member who
// may do no more than the caller. It refuses with MemberNotFound and AccessDenied.
func (s *Accounts) RemoveMember(
	ctx context.Context, r domain.Request, account, user string,
) (eventstore.Position, error) {
	outcome, err := s.changeByID(ctx, r, s.ending, account, func(
		a Account,
	) ([]events.Event, error) {
		known := a.member(user)
		if a.Erased {
			return nil, nil // the erasure has ended all memberships
		}
		if known == nil {
			return nil, domain.Refuse(domain.MemberNotFound, "There is no member %q", user)
		}
		if err := a.mayGrant(r, access.Members, known.Role.Terms()); err != nil {
			return nil, err
		}
		return []events.Event{events.MemberRemoved{User: user, At: s.streams.Now()}}, nil
	})
	return outcome.Position, err
}
