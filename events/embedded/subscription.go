package embedded

import (
	"context"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
)

// subscribe serves a subscription until the client leaves or the store closes.
func (r *reader) subscribe(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(r.store.ending, func() { cancel(ErrClosed) })
	defer stop()
	r.store.subscriptions.Add(1)
	defer r.store.subscriptions.Add(-1)
	if r.req.stream == "" {
		return r.subscribeAll(ctx)
	}
	return r.subscribeStream(ctx)
}

func (r *reader) sendConfirmation() error {
	return r.send(&streams.ReadResp{Content: &streams.ReadResp_Confirmation{
		Confirmation: &streams.ReadResp_SubscriptionConfirmation{SubscriptionId: uuid.NewString()},
	}})
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
	if err := r.store.checkPosition(r.req); err != nil {
		return err
	}
	c := &allCursor{reader: r}
	switch r.req.from {
	case fromStart:
	case fromExact:
		c.at = r.req.at
	case fromEnd:
		c.at = r.store.tail.head.Load()
	}
	if err := r.sendConfirmation(); err != nil {
		return err
	}
	for {
		changed := r.store.tail.wait()
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
	page, inMemory := c.store.tail.after(c.at, pageEvents)
	if !inMemory {
		var err error
		if page, err = c.store.pageAll(c.at+1, c.store.tail.head.Load(), false); err != nil {
			return false, err
		}
		c.caughtUp = false // it fell behind: say so again later
	}
	for _, rec := range page {
		if err := c.consider(ctx, rec); err != nil {
			return false, err
		}
		c.at = rec.pos
	}
	return len(page) > 0, nil
}

// consider sends the event if it matches, and a checkpoint when one is due. It
// is safe to go on after a checkpoint: nothing before it was left out.
func (c *allCursor) consider(ctx context.Context, rec *record) error {
	if hiddenFromAll(rec.stream) {
		return nil
	}
	if c.req.filter.match(rec) {
		if err := c.sendEvent(ctx, rec); err != nil {
			return err
		}
	}
	if c.req.filter == nil {
		return nil
	}
	c.considered = rec.pos
	if c.sinceCheckpoint++; c.sinceCheckpoint >= c.req.filter.interval {
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
	if c.req.filter != nil && c.sinceCheckpoint > 0 {
		if err := c.checkpoint(); err != nil {
			return err
		}
	}
	return c.sendCaughtUp(noEvents, c.at)
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
	st, err := r.store.durableState(ctx, r.req.stream)
	if err != nil {
		return err
	}
	if st.tombstoned {
		return &deletedError{r.req.stream}
	}
	c := &streamCursor{reader: r, at: noEvents}
	switch r.req.from {
	case fromStart:
	case fromExact:
		c.at = int64(r.req.at)
	case fromEnd:
		c.at = st.last
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
	changed, release := c.store.tail.watch(c.req.stream)
	defer release()
	st, err := c.store.durableState(ctx, c.req.stream)
	if err != nil {
		return err
	}
	if err := c.catchUp(ctx, st); err != nil {
		return err
	}
	if st.tombstoned {
		return c.buried(ctx)
	}
	if !c.caughtUp && !c.store.cfg.Answers.hidesCaughtUp(st) {
		c.caughtUp = true
		if err := c.sendCaughtUp(c.at, c.store.tail.head.Load()); err != nil {
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
func (c *streamCursor) catchUp(ctx context.Context, st *streamState) error {
	low, oldest := c.at+1, int64(0)
	if !c.caughtUp {
		low, oldest = max(low, st.firstReadable()), st.oldestReadable(c.store.cfg.now())
	}
	for low <= st.last {
		page, err := c.store.pageStream(c.req.stream, low, st.last, false, pageEvents)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, rec := range page {
			if rec.created >= oldest {
				if err := c.sendEvent(ctx, rec); err != nil {
					return err
				}
			}
		}
		c.at = page[len(page)-1].number
		low = c.at + 1
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// buried ends the subscription after the tombstone, the last event of a stream.
func (c *streamCursor) buried(ctx context.Context) error {
	rec, err := loadNumber(c.store.db, c.req.stream, tombstoneNumber)
	if err == nil {
		if err := c.sendEvent(ctx, rec); err != nil {
			return err
		}
	}
	return &deletedError{c.req.stream}
}
