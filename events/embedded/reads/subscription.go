package reads

import (
	"context"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"

	"linkledger/events/embedded/dialect"
	"linkledger/events/embedded/durable"
	"linkledger/events/embedded/groupcommit"
	"linkledger/events/embedded/record"
	"linkledger/events/embedded/request"
	"linkledger/events/embedded/revision"
	"linkledger/events/embedded/wire"
)

// subscribe serves a subscription until the client leaves or the store closes.
func (r *reader) subscribe(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(r.Closing, func() { cancel(groupcommit.ErrClosed) })
	defer stop()
	r.subscriptions.Add(1)
	defer r.subscriptions.Add(-1)
	if r.req.Stream == "" {
		return r.subscribeAll(ctx)
	}
	return r.subscribeStream(ctx)
}

func (r *reader) sendConfirmation() error {
	return r.send(&streams.ReadResp{Content: &streams.ReadResp_Confirmation{
		Confirmation: &streams.ReadResp_SubscriptionConfirmation{SubscriptionId: uuid.NewString()},
	}})
}

// sendCaughtUp says that everything up to a place was sent.
func (r *reader) sendCaughtUp(revision int64, position uint64) error {
	if r.Answers != dialect.Own {
		return r.sendEncoded(wire.EncodeBareCaughtUp())
	}
	return r.sendEncoded(wire.EncodeCaughtUp(revision, position, r.Now()))
}

// sendCheckpoint says that everything up to a position was looked at.
func (r *reader) sendCheckpoint(position uint64) error {
	if r.Answers != dialect.Own {
		return r.sendEncoded(wire.EncodeBareCheckpoint(position))
	}
	return r.sendEncoded(wire.EncodeCheckpoint(position, r.Now()))
}

// HidesCaughtUp tells whether the client hears nothing of having caught up.
func (r *reader) hidesCaughtUp(st *record.StreamState) bool {
	return r.Answers.HidesCaughtUp() && (st.Last < 0 || st.SoftDeleted())
}

// allCursor is a subscription to $all: a place in the log and nothing else.
type allCursor struct {
	*reader
	at       uint64 // position of the last event looked at
	caughtUp bool

	sinceCheckpoint uint64 // events considered since the last checkpoint
	considered      uint64 // position of the last of them
}

func (r *reader) subscribeAll(ctx context.Context) error {
	if err := r.checkPosition(); err != nil {
		return err
	}
	c := &allCursor{reader: r}
	switch r.req.From {
	case request.FromStart:
	case request.FromExact:
		c.at = r.req.At
	case request.FromEnd:
		c.at = r.Log.Head()
	}
	if err := r.sendConfirmation(); err != nil {
		return err
	}
	for {
		changed := r.Log.Wait()
		more, err := c.advance(ctx)
		if err != nil {
			return err
		}
		if more {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			continue
		}
		if err := c.rest(); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// advance sends one page, from memory when the cursor is near the end of the
// log. It returns false at the end.
func (c *allCursor) advance(ctx context.Context) (bool, error) {
	page, inMemory := c.Log.After(c.at, durable.PageEvents)
	if !inMemory {
		var err error
		if page, err = c.Log.Page(c.at+1, c.Log.Head(), false); err != nil {
			return false, err
		}
		c.caughtUp = false // it fell behind: say so again later
	}
	for _, rec := range page {
		if err := c.consider(ctx, rec); err != nil {
			return false, err
		}
		c.at = rec.Position
	}
	return len(page) > 0, nil
}

// consider sends the event if it matches, and a checkpoint when one is due. It
// is safe to go on after a checkpoint: nothing before it was left out.
func (c *allCursor) consider(ctx context.Context, rec *record.Event) error {
	if hiddenFromAll(rec.Stream) {
		return nil
	}
	if c.req.Filter.Match(rec) {
		if err := c.sendEvent(ctx, rec); err != nil {
			return err
		}
	}
	if c.req.Filter == nil {
		return nil
	}
	c.considered = rec.Position
	if c.sinceCheckpoint++; c.sinceCheckpoint >= c.req.Filter.Interval {
		return c.checkpoint()
	}
	return nil
}

// rest tells the client, once, that it has seen all there is.
func (c *allCursor) rest() error {
	if c.caughtUp {
		return nil
	}
	c.caughtUp = true
	if c.req.Filter != nil && c.sinceCheckpoint > 0 {
		if err := c.checkpoint(); err != nil {
			return err
		}
	}
	return c.sendCaughtUp(record.NoEvents, c.at)
}

func (c *allCursor) checkpoint() error {
	c.sinceCheckpoint = 0
	return c.sendCheckpoint(c.considered)
}

// streamCursor is a subscription to one stream.
type streamCursor struct {
	*reader
	at       int64 // number of the last event looked at
	caughtUp bool
}

func (r *reader) subscribeStream(ctx context.Context) error {
	st, err := r.Log.State(ctx, r.req.Stream)
	if err != nil {
		return err
	}
	if st.Tombstoned {
		return &revision.StreamDeletedError{Stream: r.req.Stream}
	}
	c := &streamCursor{reader: r, at: record.NoEvents}
	switch r.req.From {
	case request.FromStart:
	case request.FromExact:
		c.at = int64(r.req.At)
	case request.FromEnd:
		c.at = st.Last
	}
	if err := r.sendConfirmation(); err != nil {
		return err
	}
	for {
		if err := c.follow(ctx); err != nil {
			return err
		}
	}
}

// follow sends what is there and waits for the next event of the stream.
func (c *streamCursor) follow(ctx context.Context) error {
	changed, release := c.Log.Watch(c.req.Stream)
	defer release()
	st, err := c.Log.State(ctx, c.req.Stream)
	if err != nil {
		return err
	}
	if err := c.catchUp(ctx, st); err != nil {
		return err
	}
	if st.Tombstoned {
		return c.buried(ctx)
	}
	if !c.caughtUp && !c.hidesCaughtUp(st) {
		c.caughtUp = true
		if err := c.sendCaughtUp(c.at, c.Log.Head()); err != nil {
			return err
		}
	}
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// catchUp sends the events after the cursor. The limits of the metadata count
// for what was there when the subscription began; what is written afterwards is
// sent even if more of it came at once than the stream keeps.
func (c *streamCursor) catchUp(ctx context.Context, st *record.StreamState) error {
	low, oldest := c.at+1, int64(0)
	if !c.caughtUp {
		low, oldest = max(low, st.FirstReadable()), st.OldestReadable(c.Now())
	}
	for low <= st.Last {
		page, err := c.Log.StreamPage(c.req.Stream, low, st.Last, false, durable.PageEvents)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, rec := range page {
			if rec.Created >= oldest {
				if err := c.sendEvent(ctx, rec); err != nil {
					return err
				}
			}
		}
		c.at = page[len(page)-1].Number
		low = c.at + 1
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// buried ends the subscription after the tombstone, the last event of a stream.
func (c *streamCursor) buried(ctx context.Context) error {
	rec, err := c.Log.Tombstone(c.req.Stream)
	if err == nil {
		if err := c.sendEvent(ctx, rec); err != nil {
			return err
		}
	}
	return &revision.StreamDeletedError{Stream: c.req.Stream}
}
