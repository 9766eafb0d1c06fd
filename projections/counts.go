package projections

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

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
	last.resets = append(last.resets, link)
	return nil
}

func (c *countFold) save(ctx context.Context, tx bun.Tx) error {
	for _, part := range c.parts {
		if len(part.resets) > 0 {
			if err := resetCounts(ctx, tx, part.resets); err != nil {
				return err
			}
		}
		if part.clicks == nil {
			continue
		}
		if err := part.clicks.save(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

// resetCounts forgets the clicks of links, but for the fact that there were some and when the last one was.
func resetCounts(ctx context.Context, tx bun.Tx, links []uuid.UUID) error {
	_, err := tx.NewRaw(`
		WITH days AS (DELETE FROM ?schema.link_days WHERE url_id = ANY(?0::uuid[])),
		visitors AS (DELETE FROM ?schema.visitors WHERE url_id = ANY(?0::uuid[]))
		UPDATE ?schema.link_stats SET total_clicks = 0, unique_clicks = 0 WHERE url_id = ANY(?0::uuid[])`,
		uuidColumn(links)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("reset the clicks: %w", err)
	}
	return nil
}
