package commands

import (
	"context"
	"slices"
	"strings"

	"linkledger/events"
	"linkledger/events/eventstore"
)

// LoggedStreams are the events that the log has of streams, by stream, oldest first.
type LoggedStreams map[string][]eventstore.Recorded

// Missing returns the revisions before the last one that the log does not have, by stream, as ranges from one to another.
func (l LoggedStreams) Missing() map[string][][2]eventstore.Revision {
	missing := make(map[string][][2]eventstore.Revision)
	for stream, recorded := range l {
		next := eventstore.Revision(0)
		for _, r := range recorded {
			if r.Revision > next {
				missing[stream] = append(missing[stream], [2]eventstore.Revision{next, r.Revision - 1})
			}
			next = r.Revision + 1
		}
	}
	return missing
}

// LoggedHistory is History as the log has it, with all streams that it took, for a history that History fails on with ErrCut. It
// reads the whole log twice.
func (h *Handler) LoggedHistory(ctx context.Context, of HistoryOf) (HashHistory, LoggedStreams, error) {
	streams := make(LoggedStreams)
	wanted := map[string]bool{events.StreamHash + of.Hash: true}
	if err := h.gather(ctx, wanted, streams); err != nil {
		return HashHistory{}, nil, err
	}
	claims := streams[events.StreamHash+of.Hash]
	clear(wanted)
	for _, r := range claims {
		if e, err := r.Event(); err == nil {
			if claimed, ok := e.(events.HashClaimed); ok {
				wanted[events.StreamURL+claimed.URLID] = true
				wanted[events.StreamTags+claimed.Account] = true
				wanted[events.StreamAccount+claimed.Account] = true
			}
		}
	}
	if err := h.gather(ctx, wanted, streams); err != nil {
		return HashHistory{}, nil, err
	}
	past := *h
	past.past = streams
	history, err := past.History(ctx, of)
	return history, streams, err
}

// gather reads the streams from the log.
func (h *Handler) gather(ctx context.Context, wanted map[string]bool, into LoggedStreams) error {
	head, err := h.cfg.Store.Head(ctx)
	if err != nil {
		return err
	}
	return h.cfg.Store.ReadLog(ctx, eventstore.Position{}, head, func(batch []eventstore.Recorded) error {
		for _, r := range slices.DeleteFunc(batch, eventstore.Recorded.IsSystem) {
			if wanted[r.Stream] {
				stream := strings.Clone(r.Stream)
				into[stream] = append(into[stream], r)
			}
		}
		return nil
	})
}
