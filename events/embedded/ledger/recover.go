package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"linkledger/events/embedded/record"
)

const (
	rememberedIDs = 100_000
	cachedStates  = 16 << 10
)

// Recover finds the end of the log and loads the ids of its last events. It returns false if there
// is no log. In this case the caller MUST call Bootstrap. If a recent event is corrupt, Recover
// logs that and returns no error, because all other events can be served.
func (l *Ledger) Recover(log *slog.Logger) (exists bool, err error) {
	l.counters, err = record.LoadCounters(l.db)
	if errors.Is(err, pebble.ErrNotFound) {
		return false, l.startEmpty()
	}
	if err != nil {
		return true, err
	}
	err = l.loadRecent(rememberedIDs)
	if errors.Is(err, record.ErrCorrupt) && l.next > 0 {
		// A read of this event returns the error.
		log.LogAttrs(context.Background(), slog.LevelError,
			"a recent event is unreadable: run eventstore check and restore a backup",
			slog.String("error", err.Error()))
		return true, nil
	}
	return true, err
}

// loadRecent finds the end of the log and stores the ids of its last events in l.recent. It reads
// backwards and stops at a corrupt event.
func (l *Ledger) loadRecent(limit int) (err error) {
	iter, err := record.NewIter(l.db, 0)
	if err != nil {
		return err
	}
	var newest []*record.Event
	oldest := record.EndOfLog // position of the last event read
	defer func() {
		if failed := iter.Close(); failed != nil {
			err = record.ReadError("before", oldest, failed)
		}
		for _, rec := range slices.Backward(newest) {
			l.recent.Add(rec)
		}
	}()
	for ok := iter.Last(); ok && len(newest) < limit; ok = iter.Prev() {
		pos := record.PositionOf(iter.Key())
		value, err := iter.ValueAndErr()
		if err != nil {
			return record.ReadError("at", pos, err)
		}
		if len(newest) == 0 {
			l.head, l.next = pos, pos+uint64(record.EventKeySize+len(value))
		}
		rec, err := record.Decode(pos, value)
		if err != nil {
			return err
		}
		rec.Metadata, rec.Data = nil, nil // the iterator owns their memory
		newest, oldest = append(newest, rec), pos
	}
	if l.next == 0 && iter.Error() == nil {
		return fmt.Errorf("%w: counters without events", record.ErrCorrupt)
	}
	return nil
}
