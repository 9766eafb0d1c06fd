package embeddedtest

import (
	"log/slog"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"linkledger/events/embedded/disk"
	"linkledger/events/embedded/ledger"
)

// Log is a ledger whose groups are applied to the database at once.
type Log struct {
	*ledger.Ledger

	DB *disk.DB
	t  testing.TB
}

// NewLog opens the log on a file system, or makes one with its first events.
func NewLog(t testing.TB, fsys vfs.FS) *Log {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	db, err := disk.Open("store", fsys, 0, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	l := &Log{ledger.New(db.DB, time.Now), db, t}
	exists, err := l.Recover(log)
	if err != nil {
		t.Fatal(err)
	}
	if !exists {
		l.Write((*ledger.Ledger).Bootstrap)
	}
	return l
}

// Write decides and applies a group of one write.
func (l *Log) Write(plan func(*ledger.Ledger) ledger.Outcome) (out ledger.Outcome) {
	l.t.Helper()
	l.Group(func() { out = plan(l.Ledger) })
	return out
}

// Group applies the writes that decide makes as one group.
func (l *Log) Group(decide func()) ledger.Group {
	l.t.Helper()
	l.BeginGroup()
	decide()
	group, err := l.EndGroup()
	if err == nil && len(group.Events) > 0 {
		err = l.DB.Apply(group.Batch, pebble.Sync)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return group
}

// AppendTo appends an event for each name to a stream.
func (l *Log) AppendTo(stream string, expected int64, names ...string) ledger.Outcome {
	l.t.Helper()
	return l.Write(func(of *ledger.Ledger) ledger.Outcome {
		return of.Append(stream, expected, Proposals(names...))
	})
}
