// Package storecheck verifies the records, the index, the states and the counters of an event store
// against each other. It MUST NOT change the store.
package storecheck

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"linkledger/events/embedded/record"
)

const (
	maxProblems = 100 // problems that are reported one by one
	// skipBytes is how far the check skips at a time after an unreadable record. It is the size of
	// a block of Pebble.
	skipBytes            = 4 << 10
	contextCheckInterval = 1024 // entries between two checks of the context
)

// Problem is one thing that a check found wrong.
type Problem struct {
	// position of the event, or 0 if the problem is not about an event
	Position uint64 `json:"position,omitempty"`
	Stream   string `json:"stream,omitempty"` // empty if it is unknown
	What     string `json:"what"`
}

// Report is the result of a check.
type Report struct {
	Events   uint64    `json:"events"`  // readable records
	Streams  uint64    `json:"streams"` // streams in the index
	Problems uint64    `json:"problems"`
	First    []Problem `json:"first,omitempty"` // first problems, at most 100

	// Types counts the readable records by type. Last is when the last of them was stored. Both
	// leave out the events of the store itself, whose types begin with $.
	Types map[string]uint64 `json:"-"`
	Last  time.Time         `json:"-"`
}

// Run verifies every record, every entry of the index, every stream's state and the counters
// against each other. It returns an error only if it could not complete.
//
// It reads the log and the index in order. The position and size of a record give the position of
// the next one, so Run also finds a record that is missing altogether.
func Run(ctx context.Context, db pebble.Reader) (Report, error) {
	c := &checker{
		Report: Report{Types: make(map[string]uint64)}, db: db, damaged: map[uint64]string{},
	}
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

	damaged map[uint64]string // causes by position of unreadable records whose stream is unknown
	gaps    []gap

	indexed, streamStarts uint64 // all entries of the index, and those with number 0
	metadataOnly          uint64 // streams that have metadata but no events
}

// gap is an unreadable part of the log.
type gap struct {
	from, to uint64 // positions; to is exclusive
	cause    string
	located  bool // whether the index names an event in it
}

func (c *checker) reportf(pos uint64, stream, format string, args ...any) {
	c.report(Problem{Position: pos, Stream: stream, What: fmt.Sprintf(format, args...)})
}

func (c *checker) report(p Problem) { c.Add(p) }

// Add adds a problem to the report.
func (r *Report) Add(p Problem) {
	if r.Problems++; len(r.First) < maxProblems {
		r.First = append(r.First, p)
	}
}

// log verifies every record and looks up its entry in the index. It skips unreadable parts of the
// log and stores them in c.gaps.
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

// logFrom verifies records from a position on until one is unreadable. Then next is the position of
// that record and unreadable is the cause. unreadable is nil at the end of the log.
func (c *checker) logFrom(ctx context.Context, from uint64) (next uint64, unreadable, err error) {
	iter, err := record.NewIter(c.db, from)
	if err != nil {
		return 0, nil, err
	}
	next = from
	seen := 0
	for ok := iter.First(); ok; ok = iter.Next() {
		if seen++; seen%contextCheckInterval == 0 && ctx.Err() != nil {
			return 0, nil, errors.Join(context.Cause(ctx), iter.Close())
		}
		pos := record.PositionOf(iter.Key())
		if pos != next {
			c.reportf(next, "", "no event is here, the next one is at %d", pos)
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

// skip returns the next position after from at which the log is readable, or EndOfLog.
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

// lastIndexed returns the highest position in the index.
func (c *checker) lastIndexed(ctx context.Context) (last uint64, err error) {
	// The problems are ignored here, because method index reports them.
	err = c.eachEntry(ctx, func(e entry) { last = max(last, e.pos) }, func(Problem) {})
	return last, err
}

// record verifies one record. It also verifies that the index has the record at this position.
func (c *checker) record(pos uint64, value []byte) {
	rec, err := record.Decode(pos, value)
	if err != nil {
		c.damage(pos, err)
		return
	}
	c.Events++
	if !strings.HasPrefix(rec.Type, "$") {
		c.Types[rec.Type]++
		c.Last = time.Unix(0, rec.Created*100)
	}
	found, closer, err := c.db.Get(record.IndexKey(rec.Stream, rec.Number))
	if err != nil {
		cause, _ := record.Cause(err)
		c.reportf(pos, rec.Stream, "event %d is not in the index: %v", rec.Number, cause)
		return
	}
	if len(found) != 8 || binary.BigEndian.Uint64(found) != pos {
		c.reportf(pos, rec.Stream, "the index has event %d at another position", rec.Number)
	}
	_ = closer.Close() // it only releases memory
}

// damage stores the cause of an unreadable record for locate. If maxProblems causes are stored
// already, it reports the record at once, without the stream.
func (c *checker) damage(pos uint64, err error) {
	if len(c.damaged) < maxProblems {
		c.damaged[pos] = err.Error()
		return
	}
	c.report(Problem{Position: pos, What: err.Error()})
}

// counters verifies the counters of the store.
func (c *checker) counters() {
	kept, err := record.LoadCounters(c.db)
	switch {
	case err != nil:
		c.report(Problem{What: err.Error()})
	case kept.Events != c.indexed:
		c.reportf(0, "", "the store counts %d events, the index has %d", kept.Events, c.indexed)
	case kept.Streams != c.streamStarts:
		c.reportf(
			0, "", "the store counts %d streams, the index has %d", kept.Streams, c.streamStarts,
		)
	}
}
