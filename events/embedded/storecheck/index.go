package storecheck

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"linkledger/events/embedded/record"
)

// entry is one event as the index knows it.
type entry struct {
	stream string
	number int64
	pos    uint64
}

var errMalformed = errors.New("malformed entry of the index")

func readEntry(iter *pebble.Iterator) (entry, error) {
	value, err := iter.ValueAndErr()
	if err != nil {
		return entry{}, err
	}
	key := iter.Key()[1:]
	n, width := binary.Uvarint(key)
	if width <= 0 || len(value) != 8 || uint64(len(key)) != uint64(width)+n+8 {
		return entry{}, errMalformed
	}
	name, number := key[width:width+int(n)], key[width+int(n):]
	return entry{
		string(name), int64(binary.BigEndian.Uint64(number)), binary.BigEndian.Uint64(value),
	}, nil
}

func (c *checker) newIter(family byte) (*pebble.Iterator, error) {
	iter, err := c.db.NewIter(
		&pebble.IterOptions{LowerBound: []byte{family}, UpperBound: []byte{family + 1}},
	)
	if err != nil {
		return nil, fmt.Errorf("read family %d: %w", family, err)
	}
	return iter, nil
}

// eachEntry visits the index. What cannot be read goes to fault.
func (c *checker) eachEntry(ctx context.Context, visit func(entry), fault func(Problem)) error {
	iter, err := c.newIter(record.FamilyIndex)
	if err != nil {
		return err
	}
	seen, last := 0, ""
	for ok := iter.First(); ok; ok = iter.Next() {
		if seen++; seen%checkPace == 0 && ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), iter.Close())
		}
		e, err := readEntry(iter)
		if err != nil {
			cause, _ := record.Cause(err)
			fault(Problem{Stream: last, What: fmt.Sprintf("behind this stream: %v", cause)})
			continue
		}
		last = e.stream
		visit(e)
	}
	if err := iter.Close(); err != nil {
		cause, _ := record.Cause(err)
		fault(
			Problem{
				Stream: last,
				What:   fmt.Sprintf("the index is unreadable behind this stream: %v", cause),
			},
		)
	}
	return nil
}

// walk is what the index says of one stream.
type walk struct {
	stream     string
	last       int64
	tombstoned bool
	pos        uint64 // of the last entry
}

// index verifies that numbers and positions of each stream ascend without a
// gap, and that its state agrees.
func (c *checker) index(ctx context.Context) error {
	w := walk{last: record.NoEvents}
	err := c.eachEntry(ctx, func(e entry) {
		if e.stream != w.stream {
			c.stream(w)
			w = walk{stream: e.stream, last: record.NoEvents}
			c.Streams++
		}
		c.indexed++
		if e.number == 0 {
			c.begun++
		}
		switch {
		case e.number == record.TombstoneNumber:
			w.tombstoned = true
		case e.number != w.last+1:
			c.report(
				Problem{e.pos, e.stream, fmt.Sprintf("event %d comes behind %d", e.number, w.last)},
			)
			fallthrough
		default:
			w.last = e.number
		}
		if e.pos <= w.pos {
			c.report(
				Problem{
					e.pos, e.stream,
					fmt.Sprintf("event %d lies before its predecessor, at %d", e.number, w.pos),
				},
			)
		}
		w.pos = e.pos
	}, c.report)
	c.stream(w)
	return err
}

// stream verifies the state of one stream, and of the one it describes.
func (c *checker) stream(w walk) {
	if w.stream == "" { // before the first
		return
	}
	st, err := record.LoadState(c.db, w.stream)
	if err != nil {
		c.report(Problem{Stream: w.stream, What: err.Error()})
		return
	}
	if st.Last != w.last || st.Tombstoned != w.tombstoned || st.Changed != max(w.pos, st.MetaPos) {
		c.report(Problem{w.pos, w.stream, fmt.Sprintf("the state says last event %d, tombstoned "+
			"%t, changed at %d; the index %d, %t, %d",
			st.Last, st.Tombstoned, st.Changed, w.last, w.tombstoned, max(w.pos, st.MetaPos))})
	}
	if origin, ok := strings.CutPrefix(w.stream, record.MetadataPrefix); ok {
		c.described(origin, w.pos)
	}
}

// described verifies the state of a stream whose current metadata is at pos.
func (c *checker) described(stream string, pos uint64) {
	st, err := record.LoadState(c.db, stream)
	if err != nil {
		c.report(Problem{Stream: stream, What: err.Error()})
		return
	}
	if st.Last == record.NoEvents && !st.Tombstoned {
		c.metadataOnly++
	}
	if st.MetaPos != pos {
		c.report(
			Problem{
				pos, stream,
				fmt.Sprintf("the state says metadata at %d, the index %d", st.MetaPos, pos),
			},
		)
		return
	}
	meta, err := record.LoadEvent(c.db, pos)
	if err != nil {
		return // reported with the log
	}
	if !record.IsMetadataStream(stream) && st.Limits != record.ParseLimits(meta) {
		c.report(Problem{pos, stream, "the state differs from the metadata"})
	}
}

// states verifies that there is no state of a stream that is not there.
func (c *checker) states(ctx context.Context) error {
	iter, err := c.newIter(record.FamilyState)
	if err != nil {
		return err
	}
	count := uint64(0)
	for ok := iter.First(); ok; ok = iter.Next() {
		if count++; count%checkPace == 0 && ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), iter.Close())
		}
	}
	if err := iter.Close(); err != nil {
		cause, _ := record.Cause(err)
		c.report(Problem{What: fmt.Sprintf("states of streams are unreadable: %v", cause)})
	}
	if want := c.Streams + c.metadataOnly; count != want {
		c.report(
			Problem{
				What: fmt.Sprintf("there are states of %d streams, the index has %d", count, want),
			},
		)
	}
	return nil
}

// locate names the streams of the records that cannot be read.
func (c *checker) locate(ctx context.Context) error {
	if c.indexed == c.Events && len(c.damaged) == 0 && len(c.gaps) == 0 {
		return nil
	}
	err := c.eachEntry(ctx, func(e entry) {
		if cause, ok := c.damaged[e.pos]; ok {
			c.report(Problem{e.pos, e.stream, fmt.Sprintf("event %d: %s", e.number, cause)})
			delete(c.damaged, e.pos)
			return
		}
		for i := range c.gaps {
			if g := &c.gaps[i]; g.from <= e.pos && e.pos < g.to {
				g.located = true
				c.report(
					Problem{
						e.pos, e.stream,
						fmt.Sprintf("event %d: %v: %s", e.number, record.ErrCorrupt, g.cause),
					},
				)
				return
			}
		}
		if _, closer, err := c.db.Get(record.EventKey(e.pos)); err == nil {
			_ = closer.Close() // it only returns memory
		} else {
			c.report(
				Problem{
					e.pos, e.stream,
					fmt.Sprintf("event %d: %v: %v", e.number, record.ErrCorrupt, err),
				},
			)
		}
	}, func(Problem) {}) // reported by index
	for pos, cause := range c.damaged {
		c.report(Problem{Position: pos, What: cause})
	}
	for _, g := range c.gaps {
		if !g.located {
			c.report(Problem{Position: g.from, What: "the log is unreadable from here: " + g.cause})
		}
	}
	return err
}
