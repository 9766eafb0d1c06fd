package embedded

import (
	"context"
	"errors"
	"fmt"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/cockroachdb/pebble/v2"
)

// readPageEvents is the page size of the real server. Clients can notice it
// where a read begins with truncated events.
const readPageEvents = 32

// reader serves one Read call.
type reader struct {
	store *Store
	req   *readRequest
	send  func(*streams.ReadResp) error

	sendEncoded func(any) error // for messages that are encoded already
	scratch     []byte          // room for the next one
}

// Read serves reads and subscriptions.
func (s *streamsService) Read(req *streams.ReadReq, call streams.Streams_ReadServer) error {
	q, err := parseRead(req.GetOptions())
	r := &reader{store: s.store, req: q, send: call.Send, sendEncoded: call.SendMsg}
	if err == nil {
		err = s.store.cfg.Answers.objection(q)
	}
	if err == nil {
		err = r.run(call.Context())
	}
	if err == nil {
		return nil
	}
	var confirm func() error
	if req.GetOptions().GetSubscription() != nil {
		confirm = r.sendConfirmation
	}
	return s.store.failure(call.Context(), err, confirm)
}

func (r *reader) run(ctx context.Context) error {
	switch {
	case r.req.subscribe:
		return r.subscribe(ctx)
	case r.req.stream == "":
		return r.readAll(ctx)
	}
	return r.readStream(ctx)
}

func noEventAt(pos uint64, err error) error {
	if errors.Is(err, pebble.ErrNotFound) {
		return &faulty{faultPosition, fmt.Sprintf("no event begins at position %d", pos)}
	}
	return fmt.Errorf("read position %d: %w", pos, err)
}

// readAll sends events of the log up to its end at the time of the call.
// Forwards includes the event at the given position, backwards does not.
func (r *reader) readAll(ctx context.Context) error {
	if err := r.store.checkPosition(r.req); err != nil {
		return err
	}
	low, high := uint64(0), r.store.tail.head.Load()
	switch {
	case r.req.from == fromStart && r.req.backwards, r.req.from == fromEnd && !r.req.backwards:
		return nil
	case r.req.from == fromExact && r.req.backwards:
		if r.req.at == 0 {
			return nil
		}
		high = min(high, r.req.at-1)
	case r.req.from == fromExact:
		low = r.req.at
	}
	for left := r.req.count; left > 0 && low <= high; {
		page, err := r.store.pageAll(low, high, r.req.backwards)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, rec := range page {
			if left == 0 || hiddenFromAll(rec.stream) || !r.req.filter.match(rec) {
				continue
			}
			if err := r.sendEvent(ctx, rec); err != nil {
				return err
			}
			left--
		}
		if end := page[len(page)-1].pos; r.req.backwards {
			high = end - 1
		} else {
			low = end + 1
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// readStream sends the visible events of a stream.
func (r *reader) readStream(ctx context.Context) error {
	st, err := r.store.durableState(ctx, r.req.stream)
	if err != nil {
		return err
	}
	if st.tombstoned {
		return &deletedError{r.req.stream}
	}
	if st.last < 0 || st.softDeleted() {
		return r.send(&streams.ReadResp{Content: &streams.ReadResp_StreamNotFound_{
			StreamNotFound: &streams.ReadResp_StreamNotFound{StreamIdentifier: wireStream(r.req.stream)},
		}})
	}
	if r.req.backwards {
		err = r.readStreamBackwards(ctx, st)
	} else {
		err = r.readStreamForwards(ctx, st)
	}
	if err != nil || !r.req.bounds {
		return err
	}
	return r.send(&streams.ReadResp{Content: &streams.ReadResp_LastStreamPosition{LastStreamPosition: uint64(st.last)}})
}

func (r *reader) readStreamForwards(ctx context.Context, st *streamState) error {
	if r.req.from == fromEnd {
		return nil
	}
	wanted, first := int64(r.req.at), st.firstReadable()
	if r.req.bounds && first-readPageEvents >= wanted {
		readable := uint64(min(first, st.last+1))
		err := r.send(&streams.ReadResp{Content: &streams.ReadResp_FirstStreamPosition{FirstStreamPosition: readable}})
		if err != nil {
			return err
		}
	}
	oldest := st.oldestReadable(r.store.cfg.now())
	low := max(wanted, first)
	for left := r.req.count; left > 0 && low <= st.last; {
		page, err := r.store.pageStream(r.req.stream, low, st.last, false, left)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, rec := range page {
			if rec.created < oldest {
				continue
			}
			if err := r.sendEvent(ctx, rec); err != nil {
				return err
			}
			left--
		}
		low = page[len(page)-1].number + 1
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) readStreamBackwards(ctx context.Context, st *streamState) error {
	high, low := st.last, st.firstReadable()
	switch r.req.from {
	case fromStart:
		high = min(high, 0)
	case fromExact:
		high = min(high, int64(r.req.at))
	case fromEnd:
	}
	oldest := st.oldestReadable(r.store.cfg.now())
	for left := r.req.count; left > 0 && low <= high; {
		page, err := r.store.pageStream(r.req.stream, low, high, true, left)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, rec := range page {
			if rec.created < oldest {
				return nil // all before it is older still
			}
			if err := r.sendEvent(ctx, rec); err != nil {
				return err
			}
			left--
		}
		high = page[len(page)-1].number - 1
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// sendEvent sends an event, with the event that it links to when asked for.
func (r *reader) sendEvent(ctx context.Context, rec *record) error {
	if !r.req.resolveLinks || rec.kind != typeLink {
		var message encoded
		message, r.scratch = encodeEvent(rec, r.req.stringIDs, r.scratch)
		return r.sendEncoded(message)
	}
	wire := &streams.ReadResp_ReadEvent{Position: &streams.ReadResp_ReadEvent_CommitPosition{CommitPosition: rec.pos}}
	wire.Event = wireRecord(rec, r.req.stringIDs)
	target, isLink, err := r.store.resolveLink(ctx, rec)
	if err != nil {
		return err
	}
	if isLink {
		wire.Event, wire.Link = nil, wire.Event
	}
	if target != nil {
		wire.Event = wireRecord(target, r.req.stringIDs)
	}
	return r.send(&streams.ReadResp{Content: &streams.ReadResp_Event{Event: wire}})
}
