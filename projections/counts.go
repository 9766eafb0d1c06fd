package projections

import (
	"linkledger/events"
)

// countFold keeps clicks, resets and undone resets of a batch in the order of the log: what a reset takes away is what
// came before it.
type countFold struct {
	parts []*countPart

	// What they do to the tables.
	begin          func() countedClicks
	reset, restore func(*statements, resetColumns)
}

// countedClicks sums up clicks.
type countedClicks interface {
	add(batch events.ClicksRecorded) error
	size() int
	write(s *statements)
}

// countPart is a stretch of the batch that is written at once: resets, then undone resets, then clicks.
type countPart struct {
	resets   resetColumns
	restored resetColumns
	clicks   countedClicks // nil: none yet
}

// resetColumns are resets of the stats of links.
type resetColumns struct {
	link     uuidColumn
	revision []int64
}

func (c *resetColumns) add(f fact, revision int64) error {
	link, err := f.subject(events.StreamURL)
	c.link, c.revision = append(c.link, toUUID(link)), append(c.revision, revision)
	return err
}

func (c *countFold) add(batch events.ClicksRecorded) error {
	last := c.last(func(*countPart) bool { return true })
	if last.clicks == nil {
		last.clicks = c.begin()
	}
	return last.clicks.add(batch)
}

// step takes in what an event of a link does to its counters.
func (c *countFold) step(f fact) error {
	switch e := f.body.(type) {
	case events.URLStatsReset:
		part := c.last(func(p *countPart) bool { return p.clicks == nil && len(p.restored.link) == 0 })
		return part.resets.add(f, int64(f.Revision))
	case events.URLStatsRestored:
		return c.last(func(p *countPart) bool { return p.clicks == nil }).restored.add(f, signed(e.Reset))
	}
	return nil
}

// last returns the part that goes on, or else a new one.
func (c *countFold) last(goesOn func(*countPart) bool) *countPart {
	if n := len(c.parts); n > 0 && goesOn(c.parts[n-1]) {
		return c.parts[n-1]
	}
	part := &countPart{}
	c.parts = append(c.parts, part)
	return part
}

func (c *countFold) size() (n int) {
	for _, part := range c.parts {
		if n += len(part.resets.link) + len(part.restored.link); part.clicks != nil {
			n += part.clicks.size()
		}
	}
	return n
}

func (c *countFold) write(s *statements) {
	for _, part := range c.parts {
		if len(part.resets.link) > 0 {
			c.reset(s, part.resets)
		}
		if len(part.restored.link) > 0 {
			c.restore(s, part.restored)
		}
		if part.clicks != nil {
			part.clicks.write(s)
		}
	}
}
