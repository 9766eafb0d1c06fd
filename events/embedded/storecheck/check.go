// Package storecheck verifies the records, the index, the states and the
// counters of an event store against each other.
package storecheck

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"linkledger/events/embedded/record"
)

const (
	maxProblems = 100 // that are told one by one
	// of the log, at a time, to get past what cannot be read: a block of Pebble.
	skipBytes = 4 << 10
	checkPace = 1024 // entries between two looks at the context
)

// Problem is one thing that a check found wrong.
type Problem struct {
	Position uint64 `json:"position,omitempty"` // of the event; 0 when it is about none
	Stream   string `json:"stream,omitempty"`   // empty when it cannot be known
	What     string `json:"what"`
}

// Report is what a check has read and found.
type Report struct {
	Events   uint64    `json:"events"`  // records that can be read
	Streams  uint64    `json:"streams"` // streams in the index
	Problems uint64    `json:"problems"`
	First    []Problem `json:"first,omitempty"` // of the problems, at most 100
}

// Run verifies every record, every entry of the index, every stream's state
// and the counters against each other. It returns an error only when it could
// not go on.
//
// It reads the log and the index once each, in order. Positions leave no gap,
// so a record that is gone altogether is noticed too.
func Run(ctx context.Context, db pebble.Reader) (Report, error) {
	c := &checker{db: db, damaged: map[uint64]string{}}
	for _, part := range []func(context.Context) error{c.log, c.index, c.states, c.locate} {
		if err := part(ctx); err != nil {
			return Report{}, fmt.Errorf("check event store: %w", err)
		}
	}
	c.counters()
	return c.Report, nil
}

type checker struct {
	Report
	db pebble.Reader

	damaged map[uint64]string // records that cannot be read, until their stream is known
	gaps    []gap

	indexed, begun uint64 // entries of the index, and those of number 0
	metadataOnly   uint64 // streams of which there is metadata alone
}

// gap is a part of the log that cannot be read at all.
type gap struct {
	from, to uint64 // positions; to is not part of it
	cause    string
	located  bool // whether the index names an event in it
}

func (c *checker) report(p Problem) {
	if c.Problems++; len(c.First) < maxProblems {
		c.First = append(c.First, p)
	}
}

// log reads every record, and looks up its entry in the index.
func (c *checker) log(ctx context.Context) error {
	next := uint64(record.FirstPosition)
	for {
		var unreadable, err error
		if next, unreadable, err = c.logFrom(ctx, next); err != nil || unreadable == nil {
			return err
		}
		resumed, err := c.skip(ctx, next)
		if err != nil {
			return err
		}
		cause, _ := record.Cause(unreadable)
		c.gaps = append(c.gaps, gap{from: next, to: resumed, cause: cause.Error()})
		if resumed == record.EndOfLog {
			return nil
		}
		next = resumed
	}
}

// logFrom reads records until one cannot be read; next is where that one is.
func (c *checker) logFrom(ctx context.Context, from uint64) (next uint64, unreadable, err error) {
	iter, err := record.NewIter(c.db, from)
	if err != nil {
		return 0, nil, err
	}
	next = from
	seen := 0
	for ok := iter.First(); ok; ok = iter.Next() {
		if seen++; seen%checkPace == 0 && ctx.Err() != nil {
			return 0, nil, errors.Join(context.Cause(ctx), iter.Close())
		}
		pos := record.PositionOf(iter.Key())
		if pos != next {
			c.report(
				Problem{
					Position: next,
					What:     fmt.Sprintf("no event is here, the next one is at %d", pos),
				},
			)
		}
		value, err := iter.ValueAndErr()
		if err != nil {
			return pos, errors.Join(err, iter.Close()), nil
		}
		next = pos + uint64(record.EventKeySize+len(value))
		c.record(pos, value)
	}
	return next, iter.Close(), nil
}

// skip returns where the log can be read again, or EndOfLog.
func (c *checker) skip(ctx context.Context, from uint64) (resumed uint64, err error) {
	last, err := c.lastIndexed(ctx)
	if err != nil {
		return 0, err
	}
	for at := from + skipBytes; at <= last; at += skipBytes {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		iter, err := record.NewIter(c.db, at)
		if err != nil {
			return 0, err
		}
		found := iter.First()
		if found {
			resumed = record.PositionOf(iter.Key())
		}
		if iter.Close() == nil && found {
			return resumed, nil
		}
	}
	return record.EndOfLog, nil
}

// lastIndexed returns the highest position that the index knows of.
func (c *checker) lastIndexed(ctx context.Context) (last uint64, err error) {
	// reported by index
	err = c.eachEntry(ctx, func(e entry) { last = max(last, e.pos) }, func(Problem) {})
	return last, err
}

// record verifies one record and that the index leads to it.
func (c *checker) record(pos uint64, value []byte) {
	rec, err := record.Decode(pos, value)
	if err != nil {
		c.damage(pos, err)
		return
	}
	c.Events++
	found, closer, err := c.db.Get(record.IndexKey(rec.Stream, rec.Number))
	if err != nil {
		cause, _ := record.Cause(err)
		c.report(
			Problem{
				pos, rec.Stream,
				fmt.Sprintf("event %d is not found by the index: %v", rec.Number, cause),
			},
		)
		return
	}
	if len(found) != 8 || binary.BigEndian.Uint64(found) != pos {
		c.report(
			Problem{pos, rec.Stream, fmt.Sprintf("the index has event %d elsewhere", rec.Number)},
		)
	}
	_ = closer.Close() // it only returns memory
}

func (c *checker) damage(pos uint64, err error) {
	if len(c.damaged) < maxProblems {
		c.damaged[pos] = err.Error()
		return
	}
	c.report(Problem{Position: pos, What: err.Error()})
}

// counters verifies the counts that the store keeps.
func (c *checker) counters() {
	kept, err := record.LoadCounters(c.db)
	switch {
	case err != nil:
		c.report(Problem{What: err.Error()})
	case kept.Events != c.indexed:
		c.report(
			Problem{
				What: fmt.Sprintf(
					"the store counts %d events, the index %d", kept.Events, c.indexed,
				),
			},
		)
	case kept.Streams != c.begun:
		c.report(
			Problem{
				What: fmt.Sprintf(
					"the store counts %d streams, the index %d", kept.Streams, c.begun,
				),
			},
		)
	}
}
