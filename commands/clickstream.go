package commands

import (
	"context"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
)

// clickStream is where a node writes its clicks: clicks-<day>-<node>-<nonce>. It has one writer, who knows its revision
// without asking, and who leaves it for another one when that is no longer certain.
type clickStream struct {
	day   string
	name  string
	next  eventstore.Revision // that the next append expects
	queue bool                // appends to it wait in the spool, so later ones have to wait there too
}

// clickWrite is the append of one group. Whoever repeats it appends nothing new.
type clickWrite struct {
	Stream   string              `json:"stream"`
	Expected eventstore.Revision `json:"expected"`
	Command  uuid.UUID           `json:"command"`
	Clicks   []Click             `json:"clicks"`
}

// elsewhere is the append to a stream of its own, for one that its stream can never take: this node is its only writer, so somebody
// else has written to it, or deleted it. It is the same append whoever repeats it, and as often.
func (w clickWrite) elsewhere() clickWrite {
	w.Stream, w.Expected = w.Stream+"-"+w.Command.String(), eventstore.NoStream
	return w
}

// next returns the append of a group, at the next revision of the stream: one that may be tried now, or one that waits in
// the spool.
func (c *Clicks) next(clicks []Click, now bool) clickWrite {
	day := c.cfg.Now().UTC().Format(time.DateOnly)
	if c.target.day != day || c.target.queue && now {
		c.target = clickStream{
			day: day, name: events.StreamClicks + day + "-" + c.node + "-" + uuid.NewString()[:8], next: eventstore.NoStream,
		}
	}
	w := clickWrite{Stream: c.target.name, Expected: c.target.next, Command: uuid.New(), Clicks: clicks}
	c.target.next++
	return w
}

// appendOnce appends a group, unless the event store has it already.
func (c *Clicks) appendOnce(ctx context.Context, w clickWrite) error {
	appended, err := c.cfg.Store.Append(ctx, eventstore.Write{
		Stream: w.Stream, Expected: w.Expected, Command: w.Command,
		Events: []events.Event{events.ClicksRecorded{Clicks: w.Clicks}},
	})
	if err != nil {
		return err
	}
	c.recorded.Add(uint64(len(w.Clicks)))
	for known := c.position.Load(); appended.Position.Commit > known; known = c.position.Load() {
		if c.position.CompareAndSwap(known, appended.Position.Commit) {
			break
		}
	}
	return nil
}
