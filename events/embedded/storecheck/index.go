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

// entry is an entry of the index.
type entry struct {
	stream string
	number int64
	pos    uint64
}

var errMalformed = errors.New("malformed index entry")

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

// eachEntry calls visit for every entry of the index, and onProblem for every unreadable one.
func (c *checker) eachEntry(
	ctx context.Context, visit func(entry), onProblem func(Problem),
) error {
	iter, err := c.newIter(record.FamilyIndex)
	if err != nil {
		return err
	}
	seen, last := 0, ""
	for ok := iter.First(); ok; ok = iter.Next() {
		if seen++; seen%contextCheckInterval == 0 && ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), iter.Close())
		}
		e, err := readEntry(iter)
		if err != nil {
			cause, _ := record.Cause(err)
			onProblem(Problem{Stream: last, What: fmt.Sprintf("after this stream: %v", cause)})
			continue
		}
		last = e.stream
		visit(e)
	}
	if err := iter.Close(); err != nil {
		cause, _ := record.Cause(err)
		onProblem(Problem{
			Stream: last, What: fmt.Sprintf("the index is unreadable after this stream: %v", cause),
		})
	}
	return nil
}

// streamScan is the state of one stream according to its index entries.
type streamScan struct {
	stream     string
	last       int64 // number of the last event other than a tombstone
	tombstoned bool
	pos        uint64 // position in the last entry
}

// index verifies for each stream that the event numbers ascend without a gap, that the positions
// ascend, and that the stored state agrees with both.
func (c *checker) index(ctx context.Context) error {
	w := streamScan{last: record.NoEvents}
	err := c.eachEntry(ctx, func(e entry) {
		if e.stream != w.stream {
			c.stream(w)
			w = streamScan{stream: e.stream, last: record.NoEvents}
			c.Streams++
		}
		c.indexed++
		if e.number == 0 {
			c.streamStarts++
		}
		switch {
		case e.number == record.TombstoneNumber:
			w.tombstoned = true
		case e.number != w.last+1:
			c.reportf(e.pos, e.stream, "event %d follows event %d", e.number, w.last)
			fallthrough
		default:
			w.last = e.number
		}
		if e.pos <= w.pos {
			c.reportf(
				e.pos, e.stream, "event %d must come after position %d of the event before it",
				e.number, w.pos,
			)
		}
		w.pos = e.pos
	}, c.report)
	c.stream(w)
	return err
}

// stream verifies the state of a stream. If it is a metadata stream, stream also verifies the state
// of the stream that it describes.
func (c *checker) stream(w streamScan) {
	if w.stream == "" { // no entry was read yet
		return
	}
	st, err := record.LoadState(c.db, w.stream)
	if err != nil {
		c.report(Problem{Stream: w.stream, What: err.Error()})
		return
	}
	if st.Last != w.last || st.Tombstoned != w.tombstoned || st.Changed != max(w.pos, st.MetaPos) {
		c.reportf(w.pos, w.stream,
			"the state has last event %d, tombstoned %t, changed at %d; the index has %d, %t, %d",
			st.Last, st.Tombstoned, st.Changed, w.last, w.tombstoned, max(w.pos, st.MetaPos))
	}
	if origin, ok := strings.CutPrefix(w.stream, record.MetadataPrefix); ok {
		c.metadataOf(origin, w.pos)
	}
}

// metadataOf verifies the metadata in the state of a stream. pos is the position of the metadata.
func (c *checker) metadataOf(stream string, pos uint64) {
	st, err := record.LoadState(c.db, stream)
	if err != nil {
		c.report(Problem{Stream: stream, What: err.Error()})
		return
	}
	if st.Last == record.NoEvents && !st.Tombstoned {
		c.metadataOnly++
	}
	if st.MetaPos != pos {
		c.reportf(pos, stream, "the state has metadata at %d, the index at %d", st.MetaPos, pos)
		return
	}
	meta, err := record.LoadEvent(c.db, pos)
	if err != nil {
		return // method log reports it
	}
	if !record.IsMetadataStream(stream) && st.Limits != record.ParseLimits(meta) {
		c.report(Problem{pos, stream, "the state differs from the metadata"})
	}
}

// states verifies that there are no states of streams that do not exist. It only compares the
// number of states with the number of streams.
func (c *checker) states(ctx context.Context) error {
	iter, err := c.newIter(record.FamilyState)
	if err != nil {
		return err
	}
	count := uint64(0)
	for ok := iter.First(); ok; ok = iter.Next() {
		if count++; count%contextCheckInterval == 0 && ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), iter.Close())
		}
	}
	if err := iter.Close(); err != nil {
		cause, _ := record.Cause(err)
		c.reportf(0, "", "states of streams are unreadable: %v", cause)
	}
	if want := c.Streams + c.metadataOnly; count != want {
		c.reportf(0, "", "there are states of %d streams, the index has %d", count, want)
	}
	return nil
}

// locate reports the unreadable and missing records with their streams, which it finds in the
// index.
func (c *checker) locate(ctx context.Context) error {
	if c.indexed == c.Events && len(c.damaged) == 0 && len(c.gaps) == 0 {
		return nil
	}
	err := c.eachEntry(ctx, func(e entry) {
		if cause, ok := c.damaged[e.pos]; ok {
			c.reportf(e.pos, e.stream, "event %d: %s", e.number, cause)
			delete(c.damaged, e.pos)
			return
		}
		for i := range c.gaps {
			if g := &c.gaps[i]; g.from <= e.pos && e.pos < g.to {
				g.located = true
				c.reportf(
					e.pos, e.stream, "event %d: %v: %s", e.number, record.ErrCorrupt, g.cause,
				)
				return
			}
		}
		if _, closer, err := c.db.Get(record.EventKey(e.pos)); err == nil {
			_ = closer.Close() // it only releases memory
		} else {
			c.reportf(e.pos, e.stream, "event %d: %v: %v", e.number, record.ErrCorrupt, err)
		}
	}, func(Problem) {}) // method index reports the problems
	for pos, cause := range c.damaged {
		c.report(Problem{Position: pos, What: cause})
	}
	for _, g := range c.gaps {
		if !g.located {
			c.reportf(g.from, "", "the log is unreadable from here: %s", g.cause)
		}
	}
	return err
}
