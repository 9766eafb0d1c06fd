package clickcount

import (
	"linkledger/events"
	"linkledger/projections/projection"
	"linkledger/projections/sqlbatch"
)

// Fold keeps clicks, resets and undone resets of a batch in the order of the log: what a reset
// takes away is what came before it.
type Fold struct {
	parts []*countPart

	// What they do to the tables.
	Begin          func() Clicks
	Reset, Restore func(*sqlbatch.Batch, Resets)
}

// Clicks sums up clicks.
type Clicks interface {
	Add(batch events.ClicksRecorded) error
	Size() int
	Write(s *sqlbatch.Batch)
}

// countPart is a stretch of the batch that is written at once: resets, then undone resets, then
// clicks.
type countPart struct {
	resets   Resets
	restored Resets
	clicks   Clicks // nil: none yet
}

// Resets are resets of the stats of links.
type Resets struct {
	Link     sqlbatch.UUIDs
	Revision []int64
}

// Add adds the reset at a revision of the stream of an event.
func (c *Resets) Add(f projection.Event, revision int64) error {
	link, err := f.Subject(events.StreamURL)
	c.Link, c.Revision = append(c.Link, sqlbatch.UUID(link)), append(c.Revision, revision)
	return err
}

// Add takes in clicks.
func (c *Fold) Add(batch events.ClicksRecorded) error {
	last := c.last(func(*countPart) bool { return true })
	if last.clicks == nil {
		last.clicks = c.Begin()
	}
	return last.clicks.Add(batch)
}

// Apply takes in what an event of a link does to its counters.
func (c *Fold) Apply(f projection.Event) error {
	switch e := f.Body.(type) {
	case events.URLStatsReset:
		part := c.last(
			func(p *countPart) bool { return p.clicks == nil && len(p.restored.Link) == 0 },
		)
		return part.resets.Add(f, int64(f.Revision))
	case events.URLStatsRestored:
		return c.last(func(p *countPart) bool { return p.clicks == nil }).restored.Add(
			f, sqlbatch.Signed(e.Reset),
		)
	}
	return nil
}

// last returns the part that goes on, or else a new one.
func (c *Fold) last(goesOn func(*countPart) bool) *countPart {
	if n := len(c.parts); n > 0 && goesOn(c.parts[n-1]) {
		return c.parts[n-1]
	}
	part := &countPart{}
	c.parts = append(c.parts, part)
	return part
}

// Size is about how many rows Write has to write.
func (c *Fold) Size() (n int) {
	for _, part := range c.parts {
		if n += len(part.resets.Link) + len(part.restored.Link); part.clicks != nil {
			n += part.clicks.Size()
		}
	}
	return n
}

func (c *Fold) Write(s *sqlbatch.Batch) {
	for _, part := range c.parts {
		if len(part.resets.Link) > 0 {
			c.Reset(s, part.resets)
		}
		if len(part.restored.Link) > 0 {
			c.Restore(s, part.restored)
		}
		if part.clicks != nil {
			part.clicks.Write(s)
		}
	}
}
