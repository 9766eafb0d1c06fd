package clicks

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
)

// stream is where a node writes its clicks: clicks-<day>-<node>-<nonce>. It has one writer, who
// knows its revision without asking, and who leaves it for another one when that is no longer
// certain.
type stream struct {
	day  string
	name string
	next eventstore.Revision // that the next append expects
	// appends to it wait in the spool, so later ones have to wait there too
	spooled bool
}

// pendingAppend is the append of one group. Whoever repeats it appends nothing new.
type pendingAppend struct {
	Stream   string              `json:"stream"`
	Expected eventstore.Revision `json:"expected"`
	Command  uuid.UUID           `json:"command"`
	Clicks   []Click             `json:"clicks,omitempty"`
}

// encode is the append as it lies in the spool: a line that says where it goes, and the event.
func (w pendingAppend) encode() ([]byte, error) {
	event, err := events.Encode(events.ClicksRecorded{Clicks: w.Clicks})
	if err != nil {
		return nil, err
	}
	w.Clicks = nil
	place, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	return append(append(place, '\n'), event...), nil
}

// decodeSpooled reads what spooled has written, or a former version: the clicks were in the one line.
func decodeSpooled(body []byte) (w pendingAppend, err error) {
	place, event, separate := bytes.Cut(body, []byte("\n"))
	if err := json.Unmarshal(place, &w); err != nil || !separate {
		return w, err
	}
	decoded, err := events.Decode(events.ClicksRecorded{}.EventType(), event)
	if err != nil {
		return pendingAppend{}, err
	}
	w.Clicks = decoded.(events.ClicksRecorded).Clicks
	return w, nil
}

// diverted is the append to a stream of its own, for one that its stream can never take: this node
// is its only writer, so somebody else has written to it, or deleted it. It is the same append
// whoever repeats it, and as often.
func (w pendingAppend) diverted() pendingAppend {
	w.Stream, w.Expected = w.Stream+"-"+w.Command.String(), eventstore.NoStream
	return w
}

// nextAppend returns the append of a group, at the next revision of the stream: one that may be tried
// now, or one that waits in the spool.
func (c *Recorder) nextAppend(clicks []Click, now bool) pendingAppend {
	day := c.cfg.Now().UTC().Format(time.DateOnly)
	if c.current.day != day || c.current.spooled && now {
		c.current = stream{
			day: day, name: events.StreamClicks + day + "-" + c.node + "-" + uuid.NewString()[:8],
			next: eventstore.NoStream,
		}
	}
	w := pendingAppend{
		Stream: c.current.name, Expected: c.current.next, Command: uuid.New(), Clicks: clicks,
	}
	c.current.next++
	return w
}

// write is the write of the event store.
func (w pendingAppend) write() eventstore.Write {
	return eventstore.Write{
		Stream: w.Stream, Expected: w.Expected, Command: w.Command,
		Events: []events.Event{events.ClicksRecorded{Clicks: w.Clicks}},
	}
}

// appendOnce appends a group, unless the event store has it already.
func (c *Recorder) appendOnce(ctx context.Context, w pendingAppend) error {
	appended, err := c.cfg.Store.Append(ctx, w.write())
	if err != nil {
		return err
	}
	c.countRecorded(appended, len(w.Clicks))
	return nil
}

// appendJoined appends groups that follow each other in one stream, unless the event store has all
// of them already. One that is answered in time shows that the event store keeps up.
func (c *Recorder) appendJoined(ctx context.Context, groups []pendingAppend) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	began := time.Now()
	writes, clicks := make([]eventstore.Write, len(groups)), 0
	for i, w := range groups {
		writes[i] = w.write()
		clicks += len(w.Clicks)
	}
	appended, err := c.cfg.Store.AppendJoined(ctx, writes)
	if err != nil {
		return err
	}
	if time.Since(began) < c.cfg.Patience {
		c.spooling.Store(false)
	}
	c.countRecorded(appended, clicks)
	return nil
}

// countRecorded counts clicks that are in the log.
func (c *Recorder) countRecorded(appended eventstore.Appended, clicks int) {
	c.recorded.Add(uint64(clicks)) //nolint:gosec // a length
	for known := c.position.Load(); appended.Position.Commit > known; known = c.position.Load() {
		if c.position.CompareAndSwap(known, appended.Position.Commit) {
			break
		}
	}
}
