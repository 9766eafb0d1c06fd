package reads

import (
	"context"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"

	"linkledger/events/embedded/durable"
	"linkledger/events/embedded/groupcommit"
	"linkledger/events/embedded/record"
	"linkledger/events/embedded/request"
	"linkledger/events/embedded/revision"
	"linkledger/events/embedded/wire"
)

// subscribe serves a subscription until the client disconnects or the store closes.
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

// sendCaughtUp informs the client that all events up to a revision or a position were sent.
func (r *reader) sendCaughtUp(revision int64, position uint64) error {
	if r.Dialect != nil {
		return r.sendEncoded(wire.EncodeBareCaughtUp())
	}
	return r.sendEncoded(wire.EncodeCaughtUp(revision, position, r.Now()))
}

// sendCheckpoint informs the client that all events up to a position were examined.
func (r *reader) sendCheckpoint(position uint64) error {
	if r.Dialect != nil {
		return r.sendEncoded(wire.EncodeBareCheckpoint(position))
	}
	return r.sendEncoded(wire.EncodeCheckpoint(position, r.Now()))
}

// hidesCaughtUp reports whether the server of the dialect sends no CaughtUp for a stream in this
// state.
func (r *reader) hidesCaughtUp(st *record.StreamState) bool {
	return r.Dialect != nil && r.Dialect.HidesCaughtUp() && (st.Last < 0 || st.SoftDeleted())
}

// allCursor is a subscription to $all. Its state is a position in the log.
type allCursor struct {
	*reader
	at       uint64 // position of the last examined event
	caughtUp bool   // a CaughtUp was sent since the cursor last fell behind

	sinceCheckpoint uint64 // events that count towards the next checkpoint
	considered      uint64 // position of the last of these events
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
		if err := c.reachEnd(); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// advance sends one page. It reads from memory if the cursor is near the end of the log, and from
// Pebble otherwise. It returns false at the end of the log.
func (c *allCursor) advance(ctx context.Context) (bool, error) {
	page, inMemory := c.Log.After(c.at, durable.PageEvents)
	if !inMemory {
		var err error
		if page, err = c.Log.Page(c.at+1, c.Log.Head(), false); err != nil {
			return false, err
		}
		c.caughtUp = false // the cursor fell behind, so a later CaughtUp is due
	}
	for _, rec := range page {
		if err := c.consider(ctx, rec); err != nil {
			return false, err
		}
		c.at = rec.Position
	}
	return len(page) > 0, nil
}

// consider sends the event if it matches, and then a checkpoint if one is due. All matching events
// before a checkpoint have been sent, so a client can continue from the checkpoint.
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

// reachEnd sends a CaughtUp if none was sent since the cursor last fell behind.
func (c *allCursor) reachEnd() error {
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
	at       int64 // number of the last examined event
	caughtUp bool  // a CaughtUp was sent
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

// follow sends the events after the cursor and waits for the next event of the stream.
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
		return c.endAtTombstone(ctx)
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

// catchUp sends the events after the cursor. The limits of the metadata apply to events that were
// written before the subscription first caught up. Later events are all sent, even if more of them
// are written at once than the stream keeps.
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

// endAtTombstone sends the tombstone, which is the last event of a stream, and returns the error
// that ends the subscription.
func (c *streamCursor) endAtTombstone(ctx context.Context) error {
	rec, err := c.Log.Tombstone(c.req.Stream)
	if err == nil {
		if err := c.sendEvent(ctx, rec); err != nil {
			return err
		}
	}
	return &revision.StreamDeletedError{Stream: c.req.Stream}
}
