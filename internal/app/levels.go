package app

import (
	"context"

	"linkledger/events/eventstore"
	"linkledger/httpapi/redirect"
	"linkledger/httpapi/v3/catchup"
	"linkledger/projections"
	"linkledger/projections/level"
	"linkledger/queries"
)

// levels returns what compares the read models with the log before a visitor is denied a link.
func (s *Service) levels() redirect.Levels {
	return redirect.Levels{
		Links:    latest(level.OfLinks(s.Store)),
		Accounts: latest(level.OfAccounts(s.Store)),
		Misplaced: func() bool {
			return s.level.Misplaced(projections.Links, projections.Accounts)
		},
	}
}

// projections returns what waits for the read models and tells how they fit the log.
func (s *Service) projections() catchup.Projections {
	return catchup.Projections{
		Wait: s.Waiter.WaitOwned, WaitUndelayed: s.Waiter.WaitUndelayed,
		WaitForOthers: s.Waiter.WaitForOthers,
		LacksEffect:   s.Waiter.LacksEffect, LastChange: s.Waiter.LastChange,
		SetAside: s.Waiter.SetAside, Misplaced: s.level.Misplaced, Behind: s.level.Behind,
	}
}

func latest(
	log *level.Log,
) func(context.Context, queries.Checkpoint) (queries.Checkpoint, error) {
	return func(ctx context.Context, at queries.Checkpoint) (queries.Checkpoint, error) {
		latest, err := log.Latest(ctx, eventstore.Position(at))
		return queries.Checkpoint(latest), err
	}
}
