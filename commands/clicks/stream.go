package clicks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/codec"
	"linkledger/events/eventstore"
)

// stream is the stream that a node writes its clicks to: clicks-<day>-<node>-<nonce>. It has one
// writer, which therefore knows its revision without a read. The writer starts a new stream when
// the revision is no longer certain.
type stream struct {
	day  string
	name string
	next eventstore.Revision // that the next append expects
	// spooled is true if appends to the stream wait in the spool, so later ones have to wait there
	// too.
	spooled bool
}

// pendingAppend is the append of one group. A repeat of it appends nothing new.
type pendingAppend struct {
	Stream   string              `json:"stream"`
	Expected eventstore.Revision `json:"expected"`
	Command  uuid.UUID           `json:"command"`
	Clicks   []Click             `json:"clicks,omitempty"`
}

// encode returns the append as the spool stores it: a line of JSON without the clicks, and then the
// event, which has the clicks.
func (w pendingAppend) encode() ([]byte, error) {
	event, err := codec.Encode(w.event())
	if err != nil {
		return nil, err
	}
	w.Clicks = nil
	header, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	return append(append(header, '\n'), event...), nil
}

// decodeSpooled reads what encode has written. It also reads what a former version has written,
// with the clicks in the JSON line.
func decodeSpooled(body []byte) (w pendingAppend, err error) {
	header, event, separate := bytes.Cut(body, []byte("\n"))
	if err := json.Unmarshal(header, &w); err != nil || !separate {
		return w, err
	}
	decoded, err := codec.Decode(events.ClicksRecorded{}.EventType(), event)
	if err != nil {
		return pendingAppend{}, err
	}
	recorded, ok := decoded.(events.ClicksRecorded)
	if !ok {
		return pendingAppend{}, fmt.Errorf("%T is no event of clicks", decoded)
	}
	w.Clicks = recorded.Clicks
	return w, nil
}

// diverted returns the append with a new stream, which only this append uses. It is for an append
// that its stream can never take, because another writer has written to the stream or deleted it.
// Each call returns the same stream.
func (w pendingAppend) diverted() pendingAppend {
	w.Stream, w.Expected = w.Stream+"-"+w.Command.String(), eventstore.NoStream
	return w
}

// nextAppend returns the append of a group at the next revision of the stream. If now is false, the
// append goes to the spool without a try of the event store.
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

// write returns the append as a write of the event store.
func (w pendingAppend) write() eventstore.Write {
	return eventstore.Write{
		Stream: w.Stream, Expected: w.Expected, Command: w.Command,
		Events: []events.Event{w.event()},
	}
}

// event returns the event of the append. It cleans texts that no event may have. Otherwise one such
// text would lose all clicks of the group.
func (w pendingAppend) event() events.Event {
	for i := range w.Clicks {
		c := &w.Clicks[i]
		for _, text := range []*string{
			&c.URLID, &c.Visitor, &c.Former, &c.Referrer, &c.Browser, &c.OS, &c.Device, &c.Country,
			&c.Program,
		} {
			if !events.IsText(*text) {
				*text = events.CleanText(*text)
			}
		}
	}
	return events.ClicksRecorded{Clicks: w.Clicks}
}

// append tries an append until the timeout: Config.StoreTimeout if there is a spool, else
// longStoreTimeout.
func (c *Recorder) append(ctx context.Context, w pendingAppend) error {
	limit := longStoreTimeout
	if c.cfg.Spool != nil {
		limit = c.cfg.StoreTimeout
	}
	return c.appendWithin(ctx, w, limit)
}

func (c *Recorder) appendWithin(ctx context.Context, w pendingAppend, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := c.appendOnce(ctx, w); err != nil {
		// The outcome of the append is unknown, and so is the stream's revision: the next group
		// starts a new stream.
		c.current = stream{}
		return err
	}
	return nil
}

// appendOnce appends a group. It has no effect if the event store has the group already.
func (c *Recorder) appendOnce(ctx context.Context, w pendingAppend) error {
	appended, err := c.cfg.Store.Append(ctx, w.write())
	if err != nil {
		return err
	}
	c.countRecorded(appended, len(w.Clicks))
	return nil
}

// appendJoined appends groups that follow each other in one stream. It has no effect if the event
// store has all of them already. If the answer is fast enough, new groups no longer go to the spool
// first.
func (c *Recorder) appendJoined(ctx context.Context, groups []pendingAppend) error {
	ctx, cancel := context.WithTimeout(ctx, longStoreTimeout)
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
	if time.Since(began) < c.cfg.StoreTimeout {
		c.spooling.Store(false)
	}
	c.countRecorded(appended, clicks)
	return nil
}

// spoolAppend puts an append into the spool.
func (c *Recorder) spoolAppend(w pendingAppend) error {
	body, err := w.encode()
	if err == nil {
		err = c.cfg.Spool.Append(body, len(w.Clicks))
	}
	if err != nil {
		// The append is not kept, so the next one would expect a revision that never exists.
		c.current = stream{}
		return err
	}
	c.current.spooled = true
	c.spooling.Store(true)
	c.spooled.Add(uint64(len(w.Clicks)))
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
