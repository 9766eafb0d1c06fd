package projections

import (
	"linkledger/events"
)

// countFold keeps clicks and resets of a batch in the order of the log: what a reset takes away is what came before it.
type countFold struct {
	parts []*countPart
}

// countPart is a stretch of the batch that is written at once: resets, and the clicks after them.
type countPart struct {
	resets uuidColumn
	clicks *clickFold // nil: none yet
}

func (c *countFold) add(batch events.ClicksRecorded) error {
	if len(c.parts) == 0 {
		c.parts = append(c.parts, &countPart{})
	}
	last := c.parts[len(c.parts)-1]
	if last.clicks == nil {
		last.clicks = newClickFold()
	}
	return last.clicks.add(batch)
}

func (c *countFold) reset(f fact) error {
	link, err := f.subject(events.StreamURL)
	if err != nil {
		return err
	}
	if len(c.parts) == 0 || c.parts[len(c.parts)-1].clicks != nil {
		c.parts = append(c.parts, &countPart{})
	}
	last := c.parts[len(c.parts)-1]
	last.resets = append(last.resets, toUUID(link))
	return nil
}

func (c *countFold) write(s *statements) {
	for _, part := range c.parts {
		if len(part.resets) > 0 {
			resetCounts(s, part.resets)
		}
		if part.clicks != nil {
			part.clicks.write(s)
		}
	}
}

// resetCounts forgets the clicks of links, but for the fact that there were some and when the last one was.
func resetCounts(s *statements, links uuidColumn) {
	s.queue(`
		WITH days AS (DELETE FROM ?schema.link_days WHERE url_id = ANY($1::uuid[])),
		visitors AS (DELETE FROM ?schema.visitors WHERE url_id = ANY($1::uuid[])),
		toggled AS (
			UPDATE ?schema.link_stats SET total_clicks = 0, unique_clicks = 0
			WHERE url_id = ANY($1::uuid[]) AND total_clicks > 0 RETURNING account_id, number, 'clicked' AS name)`+toggleSets, links)
}
