// Package logcopy copies the log of one event store into another one, and proves that they are the
// same.
package logcopy

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"iter"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"

	"linkledger/events/eventstore"
	"linkledger/events/eventstore/wire"
)

const (
	// copyWindow is how many appends of a copy are on their way at a time.
	copyWindow = 128
	// copyAppendEvents and copyAppendBytes bound the events that one append carries, all of one
	// stream.
	copyAppendEvents = 100
	copyAppendBytes  = 256 << 10
	// tellEvery is how many events lie between two reports of the progress.
	tellEvery = 512
)

// Stage is what a copy does at the moment.
type Stage string

// The stages, in their order.
const (
	Comparing Stage = "comparing" // what an earlier run has copied
	Copying   Stage = "copying"
	Verifying Stage = "verifying" // what this run has copied
)

// Progress tells how far a copy is.
type Progress struct {
	Stage    Stage
	Events   int64               // that this stage has done
	At, Head eventstore.Position // in the log that is copied
}

// Result sums up two logs that are the same.
type Result struct {
	Events int64  // of each
	New    int64  // of them, that this run has copied
	Chain  string // hash over all events in their order, hex
}

// Copy appends to a store what another one has behind it, up to where that one ends now, in the
// order of the log. The events keep streams, revisions, ids, types and bodies; position and time,
// which a store gives by itself, go along in the metadata, and Recorded tells the first time.
// Streams whose names begin with $ are left out.
//
// What was copied before is compared first, event by event, and what was copied now is read back
// and compared after, so an interrupted copy is gone on with by another one. Errors: ErrOtherLog
// where the target has an event that the source has not at that place, ErrWrongRevision where
// somebody else writes to the target, ErrForeign, and those of ReadLog.
//
// Several appends are on their way at a time, over one call. The embedded event store carries them
// out in the order in which they were sent; should another one not, as when its leader changes, the
// comparison after tells.
func Copy(ctx context.Context, from, to *eventstore.Store, tell func(Progress)) (Result, error) {
	head, err := from.Head(ctx)
	if err != nil {
		return Result{}, err
	}
	c := &copying{
		from: from, to: to, head: head, tell: tell, source: newChain(), target: newChain(),
	}
	if err := c.compare(ctx, Comparing); err != nil {
		return Result{}, err
	}
	earlier := c.source.events
	if err := c.copy(ctx); err != nil {
		return Result{}, err
	}
	if err := c.compare(ctx, Verifying); err != nil {
		return Result{}, err
	}
	if copied := c.source.events - earlier; copied != c.copied {
		return Result{}, fmt.Errorf(
			"%w: %d events were copied and %d are there", eventstore.ErrOtherLog, c.copied, copied,
		)
	}
	return Result{Events: c.source.events, New: c.copied, Chain: c.source.String()}, nil
}

type copying struct {
	from, to *eventstore.Store
	head     eventstore.Position // of the log that is copied
	tell     func(Progress)
	source   chain // of what was compared
	target   chain
	copied   int64
}

// compare reads both logs behind what was compared so far, up to the end of the target.
func (c *copying) compare(ctx context.Context, stage Stage) error {
	end, err := c.to.Head(ctx)
	if err != nil {
		return err
	}
	next, stop := iter.Pull2(eventsOfLog(ctx, c.from, c.source.at, c.head))
	defer stop()
	began := c.source.events
	for copied, err := range eventsOfLog(ctx, c.to, c.target.at, end) {
		if err != nil {
			return fmt.Errorf("target: %w", err)
		}
		original, err, ok := next()
		if err != nil {
			return fmt.Errorf("source: %w", err)
		}
		if !ok {
			return fmt.Errorf("%w: the target has event %d of %s at position %s, and the source "+
				"has no more: was the target written to?",
				eventstore.ErrOtherLog, copied.Revision, copied.Stream, copied.Position)
		}
		c.source.add(original)
		c.target.add(copied)
		if c.source.sum != c.target.sum {
			return fmt.Errorf("%w: event %d of %s at position %s of the target is not event %d of "+
				"%s at position %s of the source: copy into an empty store",
				eventstore.ErrOtherLog, copied.Revision, copied.Stream, copied.Position,
				original.Revision, original.Stream, original.Position)
		}
		if c.source.events%tellEvery == 0 {
			c.tell(
				Progress{
					Stage: stage, Events: c.source.events - began, At: original.Position,
					Head: c.head,
				},
			)
		}
	}
	return nil
}

// copy appends what the source has behind what was compared.
func (c *copying) copy(ctx context.Context) error {
	var window []*wire.BatchAppend
	var last appending
	for r, err := range eventsOfLog(ctx, c.from, c.source.at, c.head) {
		if err != nil {
			return fmt.Errorf("source: %w", err)
		}
		proposed, err := proposeCopy(r)
		if err != nil {
			return fmt.Errorf(
				"event %d of %s at position %s: %w", r.Revision, r.Stream, r.Position, err,
			)
		}
		if last.takes(r, proposed) {
			last.add(proposed)
		} else {
			if len(window) == copyWindow {
				if err := c.store(ctx, window); err != nil {
					return err
				}
				window = window[:0]
			}
			last = appending{
				request: wire.NewBatchAppend(r.Stream, r.Revision-1, nil), stream: r.Stream,
				next: r.Revision,
			}
			last.add(proposed)
			window = append(window, last.request)
		}
		if c.copied++; c.copied%tellEvery == 0 {
			c.tell(Progress{Stage: Copying, Events: c.copied, At: r.Position, Head: c.head})
		}
	}
	return c.store(ctx, window)
}

// store waits until appends are stored, and goes on with them after an outage.
func (c *copying) store(ctx context.Context, window []*wire.BatchAppend) error {
	stored, err := c.to.AppendInOrder(ctx, window)
	if errors.Is(err, eventstore.ErrWrongRevision) {
		return fmt.Errorf(
			"stream %s of the target: %w: somebody else writes to it", window[stored].Stream(), err,
		)
	}
	if err != nil {
		return fmt.Errorf("target: %w", err)
	}
	return nil
}

// appending is an append that further events of its stream may join.
type appending struct {
	request *wire.BatchAppend // nil: none was begun
	stream  string
	next    eventstore.Revision
	bytes   int
}

func (a *appending) takes(
	r eventstore.Recorded, proposed *streams.BatchAppendReq_ProposedMessage,
) bool {
	return a.request != nil && a.stream == r.Stream && a.next == r.Revision && len(
		a.request.Proposed,
	) < copyAppendEvents &&
		a.bytes+proposedSize(proposed) <= copyAppendBytes
}

func (a *appending) add(proposed *streams.BatchAppendReq_ProposedMessage) {
	a.request.Proposed = append(a.request.Proposed, proposed)
	a.next++
	a.bytes += proposedSize(proposed)
}

func proposedSize(p *streams.BatchAppendReq_ProposedMessage) int {
	return len(p.GetData()) + len(p.GetCustomMetadata())
}

func proposeCopy(r eventstore.Recorded) (*streams.BatchAppendReq_ProposedMessage, error) {
	metadata, err := r.MetadataOfCopy()
	if err != nil {
		return nil, err
	}
	return wire.ProposedMessage(r.ID, r.Type, r.Data, metadata), nil
}

// chain is a hash over the events of a log in their order, with all that a copy keeps of them.
type chain struct {
	events int64
	at     eventstore.Position // of the last one
	sum    [sha256.Size]byte
	hash   hash.Hash
	text   []byte
}

func newChain() chain { return chain{hash: sha256.New()} }

func (c *chain) add(r eventstore.Recorded) {
	c.text = append(c.text[:0], c.sum[:]...)
	at := r.FirstPosition()
	//nolint:gosec // not negative
	for _, number := range []uint64{uint64(r.Revision), at.Commit, at.Prepare} {
		c.text = binary.BigEndian.AppendUint64(c.text, number)
	}
	c.text = append(c.text, r.ID[:]...)
	c.text = r.Time.UTC().AppendFormat(c.text, time.RFC3339Nano)
	for _, field := range [][]byte{[]byte(r.Stream), []byte(r.Type), r.Data, r.Metadata} {
		c.text = binary.BigEndian.AppendUint64(c.text, uint64(len(field)))
		c.text = append(c.text, field...)
	}
	c.hash.Reset()
	_, _ = c.hash.Write(c.text) // never fails
	c.hash.Sum(c.sum[:0])
	c.events++
	c.at = r.Position
}

// String is the hash in hex.
func (c *chain) String() string { return hex.EncodeToString(c.sum[:]) }

var errEnough = errors.New("no more events are wanted")

// eventsOfLog returns what ReadLog hands on, one by one.
func eventsOfLog(
	ctx context.Context, s *eventstore.Store, behind, upTo eventstore.Position,
) iter.Seq2[eventstore.Recorded, error] {
	return func(yield func(eventstore.Recorded, error) bool) {
		if !upTo.After(behind) {
			return
		}
		err := s.ReadLog(ctx, behind, upTo, func(batch []eventstore.Recorded) error {
			for _, r := range batch {
				if !yield(r, nil) {
					return errEnough
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(eventstore.Recorded{}, err)
		}
	}
}
