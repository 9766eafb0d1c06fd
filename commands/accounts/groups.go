package accounts

import (
	"context"

	"linkledger/commands/domain"
	"linkledger/events"
	"linkledger/events/eventstore"
)

// SetGroupRole gives a person the role that a group has in an account. A direct role stays.
// SetGroupRole refuses with InvalidValue if the account has too many members.
func (s *Accounts) SetGroupRole(
	ctx context.Context, r domain.Request, account string, m Member,
) (eventstore.Position, error) {
	outcome, err := s.changeByID(ctx, r, s.whole, account, func(a Account) ([]events.Event, error) {
		known := a.member(m.User)
		if a.ID == "" || a.Erased || known != nil && (known.Group == "" || *known == m) {
			return nil, nil
		}
		return a.set(m, s.streams.Now())
	})
	return outcome.Position, err
}

// EndGroupRole ends the membership that a person has through a group. A direct membership stays.
func (s *Accounts) EndGroupRole(
	ctx context.Context, r domain.Request, account, user string,
) (eventstore.Position, error) {
	outcome, err := s.changeByID(ctx, r, s.ending, account, func(
		a Account,
	) ([]events.Event, error) {
		if known := a.member(user); a.Erased || known == nil || known.Group == "" {
			return nil, nil
		}
		return []events.Event{events.MemberRemoved{User: user, At: s.streams.Now()}}, nil
	})
	return outcome.Position, err
}
