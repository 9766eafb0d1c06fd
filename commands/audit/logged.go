package audit

import (
	"context"

	"linkledger/commands/hashes"
	"linkledger/commands/streams"
	"linkledger/events"
)

// LoggedHistory returns a history, and the streams that it is made from. It does not read these
// streams one by one, but the whole log, twice. It is for a query for which History fails with
// ErrCut.
func (a *Reader) LoggedHistory(
	ctx context.Context, of HistoryQuery,
) (History, streams.Logged, error) {
	streams := make(streams.Logged)
	wanted := map[string]bool{events.StreamHash + of.Hash: true}
	if err := a.streams.ReadFromLog(ctx, wanted, streams); err != nil {
		return History{}, nil, err
	}
	claims := streams[events.StreamHash+of.Hash]
	clear(wanted)
	for _, r := range claims {
		if e, err := r.Event(); err == nil {
			if claimed, ok := hashes.ClaimOf(e); ok {
				wanted[events.LinkStream(claimed.URLID)] = true
				wanted[events.StreamTags+claimed.Account] = true
				wanted[events.StreamAccount+claimed.Account] = true
			}
		}
	}
	delete(wanted, events.StreamHash+of.Hash) // it is read already; a link may live in it
	if err := a.streams.ReadFromLog(ctx, wanted, streams); err != nil {
		return History{}, nil, err
	}
	past := *a
	past.streams = a.streams.WithLogged(streams)
	history, err := past.History(ctx, of)
	return history, streams, err
}
