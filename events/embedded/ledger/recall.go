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

// Recover finds the end of the log. It returns false where there is no log
// yet, which is then begun by Begin.
func (l *Ledger) Recover(log *slog.Logger) (begun bool, err error) {
	l.counters, err = record.LoadCounters(l.db)
	if errors.Is(err, pebble.ErrNotFound) {
		return false, l.beginLog()
	}
	if err != nil {
		return true, err
	}
	err = l.recall(rememberedIDs)
	if errors.Is(err, record.ErrCorrupt) && l.next > 0 {
		// Whoever reads the record is told; all the others can be served.
		log.LogAttrs(context.Background(), slog.LevelError,
			"a recent event is unreadable, run check and restore a backup",
			slog.String("error", err.Error()))
		return true, nil
	}
	return true, err
}

// recall finds the end of the log and remembers the ids of its last events, up
// to one that is corrupt.
func (l *Ledger) recall(limit int) (err error) {
	iter, err := record.NewIter(l.db, 0)
	if err != nil {
		return err
	}
	var newest []*record.Event
	oldest := record.EndOfLog // position of the last one read
	defer func() {
		if failed := iter.Close(); failed != nil {
			err = record.Unreadable("before", oldest, failed)
		}
		for _, rec := range slices.Backward(newest) {
			l.recent.Add(rec)
		}
	}()
	for ok := iter.Last(); ok && len(newest) < limit; ok = iter.Prev() {
		pos := record.PositionOf(iter.Key())
		value, err := iter.ValueAndErr()
		if err != nil {
			return record.Unreadable("at", pos, err)
		}
		if len(newest) == 0 {
			l.head, l.next = pos, pos+uint64(record.EventKeySize+len(value))
		}
		rec, err := record.Decode(pos, value)
		if err != nil {
			return err
		}
		rec.Metadata, rec.Data = nil, nil // they belong to the iterator
		newest, oldest = append(newest, rec), pos
	}
	if l.next == 0 && iter.Error() == nil {
		return fmt.Errorf("%w: counters without events", record.ErrCorrupt)
	}
	return nil
}
