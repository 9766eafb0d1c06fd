package clickcount

import (
	"linkledger/events"
	"linkledger/projections/projection"
	"linkledger/projections/sqlbatch"
	"linkledger/robots"
)

// Fold collects the clicks, resets and undone resets of a batch in the order of the log, because a
// reset takes away only the clicks before it.
type Fold struct {
	segments []*segment

	Judgement *robots.Judgement // of the clicks; nil: they keep their verdicts
	// Begin returns a counter for clicks between which no reset was made or undone. Reset and
	// Restore queue the statements for resets and for undone resets.
	Begin          func() Clicks
	Reset, Restore func(*sqlbatch.Batch, Resets)
}

// Clicks sums up the clicks of a segment of a batch, see Fold.Begin.
type Clicks interface {
	// Add counts the clicks of an event that are not a robot's, see EachCounted.
	Add(batch events.ClicksRecorded, judgement *robots.Judgement) error
	// Size returns about how many rows Write writes.
	Size() int
	// Write queues the statements that add the clicks to the tables.
	Write(s *sqlbatch.Batch)
}

// segment is a part of the batch. Fold.Write writes the resets of a segment first, then its undone
// resets, and then its clicks.
type segment struct {
	resets   Resets
	restored Resets
	clicks   Clicks // nil: none yet
}

// Resets lists resets of the stats of links: the link, and the revision of the reset in the link's
// stream.
type Resets struct {
	Link     sqlbatch.UUIDs
	Revision []int64
}

// Add adds the reset at a revision of the event's stream.
func (c *Resets) Add(event projection.Event, revision int64) error {
	link, err := event.Link()
	c.Link, c.Revision = append(c.Link, sqlbatch.UUID(link)), append(c.Revision, revision)
	return err
}

// Add counts the clicks of an event.
func (c *Fold) Add(batch events.ClicksRecorded) error {
	last := c.segmentFor(func(*segment) bool { return true })
	if last.clicks == nil {
		last.clicks = c.Begin()
	}
	return last.clicks.Add(batch, c.Judgement)
}

// Apply collects a reset or an undone reset. It ignores other events of links.
func (c *Fold) Apply(event projection.Event) error {
	switch e := event.Body.(type) {
	case events.URLStatsReset:
		seg := c.segmentFor(func(last *segment) bool {
			return last.clicks == nil && len(last.restored.Link) == 0
		})
		return seg.resets.Add(event, int64(event.Revision))
	case events.URLStatsRestored:
		seg := c.segmentFor(func(last *segment) bool { return last.clicks == nil })
		return seg.restored.Add(event, sqlbatch.Signed(e.Reset))
	}
	return nil
}

// segmentFor returns the last segment if accepts returns true for it, or else a new one.
func (c *Fold) segmentFor(accepts func(*segment) bool) *segment {
	if n := len(c.segments); n > 0 && accepts(c.segments[n-1]) {
		return c.segments[n-1]
	}
	seg := &segment{}
	c.segments = append(c.segments, seg)
	return seg
}

// Size returns about how many rows Write writes.
func (c *Fold) Size() (n int) {
	for _, seg := range c.segments {
		if n += len(seg.resets.Link) + len(seg.restored.Link); seg.clicks != nil {
			n += seg.clicks.Size()
		}
	}
	return n
}

// Write queues the statements of all segments in the order of the log.
func (c *Fold) Write(s *sqlbatch.Batch) {
	for _, seg := range c.segments {
		if len(seg.resets.Link) > 0 {
			c.Reset(s, seg.resets)
		}
		if len(seg.restored.Link) > 0 {
			c.Restore(s, seg.restored)
		}
		if seg.clicks != nil {
			seg.clicks.Write(s)
		}
	}
}
