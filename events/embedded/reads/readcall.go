// Package reads serves the call Read, which clients use for reads and for subscriptions.
package reads

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"

	"linkledger/events/embedded/dialect"
	"linkledger/events/embedded/durable"
	"linkledger/events/embedded/failure"
	"linkledger/events/embedded/record"
	"linkledger/events/embedded/request"
	"linkledger/events/embedded/revision"
	"linkledger/events/embedded/wire"
)

// readPageEvents is the page size of EventStoreDB. It decides whether a client that begins to
// read at truncated events receives the first stream position.
const readPageEvents = 32

// Service serves reads and subscriptions.
type Service struct {
	Log      *durable.Log
	Dialect  dialect.Dialect
	Failures failure.Reporter
	Now      func() time.Time
	Closing  context.Context //nolint:containedctx // done when the store closes

	subscriptions atomic.Int64
}

// Subscriptions returns the number of open subscriptions.
func (s *Service) Subscriptions() int { return int(s.subscriptions.Load()) }

// reader serves one Read call.
type reader struct {
	*Service

	req  *request.Read
	send func(*streams.ReadResp) error

	sendEncoded func(any) error // sends a wire.Encoded
	scratch     []byte          // reused to encode the next event
}

// Read serves reads and subscriptions.
func (s *Service) Read(req *streams.ReadReq, call streams.Streams_ReadServer) error {
	q, err := request.ParseRead(req.GetOptions())
	r := &reader{Service: s, req: q, send: call.Send, sendEncoded: call.SendMsg}
	if err == nil {
		err = q.CheckDialect(s.Dialect)
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
	return s.Failures.Report(call.Context(), err, confirm)
}

func (r *reader) run(ctx context.Context) error {
	switch {
	case r.req.Subscribe:
		return r.subscribe(ctx)
	case r.req.Stream == "":
		return r.readAll(ctx)
	}
	return r.readStream(ctx)
}

// checkPosition returns an error if the read begins at a position at which no event begins.
func (r *reader) checkPosition() error {
	if r.req.From != request.FromExact {
		return nil
	}
	err := r.Log.CheckPosition(r.req.At)
	if errors.Is(err, durable.ErrInsideEvent) {
		return dialect.Refuse(
			dialect.FaultPosition, fmt.Sprintf("no event begins at position %d", r.req.At),
		)
	}
	return err
}

// readAll sends events of the log up to its end at the time of the call. A read forwards includes
// the event at the given position, a read backwards does not.
func (r *reader) readAll(ctx context.Context) error {
	if err := r.checkPosition(); err != nil {
		return err
	}
	low, high := uint64(0), r.Log.Head()
	switch {
	case r.req.From == request.FromStart && r.req.Backwards:
		return nil
	case r.req.From == request.FromEnd && !r.req.Backwards:
		return nil
	case r.req.From == request.FromExact && r.req.Backwards:
		if r.req.At == 0 {
			return nil
		}
		high = min(high, r.req.At-1)
	case r.req.From == request.FromExact:
		low = r.req.At
	}
	for left := r.req.Count; left > 0 && low <= high; {
		page, err := r.Log.Page(low, high, r.req.Backwards)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, rec := range page {
			if left == 0 || hiddenFromAll(rec.Stream) || !r.req.Filter.Match(rec) {
				continue
			}
			if err := r.sendEvent(ctx, rec); err != nil {
				return err
			}
			left--
		}
		if end := page[len(page)-1].Position; r.req.Backwards {
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
	st, err := r.Log.State(ctx, r.req.Stream)
	if err != nil {
		return err
	}
	if st.Tombstoned {
		return &revision.StreamDeletedError{Stream: r.req.Stream}
	}
	if st.Last < 0 || st.SoftDeleted() {
		return r.send(&streams.ReadResp{Content: &streams.ReadResp_StreamNotFound_{
			StreamNotFound: &streams.ReadResp_StreamNotFound{
				StreamIdentifier: wire.StreamIdentifier(r.req.Stream),
			},
		}})
	}
	if r.req.Backwards {
		err = r.readStreamBackwards(ctx, st)
	} else {
		err = r.readStreamForwards(ctx, st)
	}
	if err != nil || !r.req.Bounds {
		return err
	}
	return r.send(&streams.ReadResp{
		Content: &streams.ReadResp_LastStreamPosition{LastStreamPosition: uint64(st.Last)},
	})
}

func (r *reader) readStreamForwards(ctx context.Context, st *record.StreamState) error {
	if r.req.From == request.FromEnd {
		return nil
	}
	wanted, first := int64(r.req.At), st.FirstReadable()
	if r.req.Bounds && first-readPageEvents >= wanted {
		readable := uint64(min(first, st.Last+1))
		err := r.send(&streams.ReadResp{
			Content: &streams.ReadResp_FirstStreamPosition{FirstStreamPosition: readable},
		})
		if err != nil {
			return err
		}
	}
	oldest := st.OldestReadable(r.Now())
	low := max(wanted, first)
	for left := r.req.Count; left > 0 && low <= st.Last; {
		page, err := r.Log.StreamPage(r.req.Stream, low, st.Last, false, left)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, rec := range page {
			if rec.Created < oldest {
				continue
			}
			if err := r.sendEvent(ctx, rec); err != nil {
				return err
			}
			left--
		}
		low = page[len(page)-1].Number + 1
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) readStreamBackwards(ctx context.Context, st *record.StreamState) error {
	high, low := st.Last, st.FirstReadable()
	switch r.req.From {
	case request.FromStart:
		high = min(high, 0)
	case request.FromExact:
		high = min(high, int64(r.req.At))
	case request.FromEnd:
	}
	oldest := st.OldestReadable(r.Now())
	for left := r.req.Count; left > 0 && low <= high; {
		page, err := r.Log.StreamPage(r.req.Stream, low, high, true, left)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, rec := range page {
			if rec.Created < oldest {
				return nil // all earlier events are older
			}
			if err := r.sendEvent(ctx, rec); err != nil {
				return err
			}
			left--
		}
		high = page[len(page)-1].Number - 1
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// sendEvent sends an event. If the event is a link and the request resolves links, sendEvent also
// sends the target of the link.
func (r *reader) sendEvent(ctx context.Context, rec *record.Event) error {
	if !r.req.ResolveLinks || rec.Type != record.TypeLink {
		var message wire.Encoded
		message, r.scratch = wire.EncodeEvent(rec, r.req.StringIDs, r.scratch)
		return r.sendEncoded(message)
	}
	sent := &streams.ReadResp_ReadEvent{
		Position: &streams.ReadResp_ReadEvent_CommitPosition{CommitPosition: rec.Position},
	}
	sent.Event = wire.RecordedEvent(rec, r.req.StringIDs)
	target, isLink, err := r.Log.Resolve(ctx, rec, r.Now())
	if err != nil {
		return err
	}
	if isLink {
		sent.Event, sent.Link = nil, sent.Event
	}
	if target != nil {
		sent.Event = wire.RecordedEvent(target, r.req.StringIDs)
	}
	return r.send(&streams.ReadResp{Content: &streams.ReadResp_Event{Event: sent}})
}

// hiddenFromAll reports whether the events of a stream are hidden from $all. Hidden streams hold
// the state of persistent subscriptions to $all, or the epochs of a cluster.
func hiddenFromAll(stream string) bool {
	if stream == "$epoch-information" {
		return true
	}
	return strings.HasPrefix(stream, "$persistentsubscription-$all::") &&
		(strings.HasSuffix(stream, "-checkpoint") || strings.HasSuffix(stream, "-parked"))
}
