// Package logcopy copies the log of one event store into another one and verifies that they are
// equal.
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
	// copyWindow is how many appends are sent without waiting for their responses.
	copyWindow = 128
	// copyAppendEvents and copyAppendBytes bound one append, whose events belong to one stream.
	copyAppendEvents = 100
	copyAppendBytes  = 256 << 10
	// reportEvery is the number of events between two progress reports.
	reportEvery = 512
)

// ErrIncomplete means that a copy ends before its source does.
var ErrIncomplete = errors.New("the copy is not complete")

// Stage is a stage of a copy.
type Stage string

// The stages, in their order.
const (
	Comparing Stage = "comparing" // with what an earlier run has copied
	Copying   Stage = "copying"
	Verifying Stage = "verifying" // what this run has copied
)

// Progress describes how far a copy is.
type Progress struct {
	Stage    Stage
	Events   int64               // processed by this stage
	At, Head eventstore.Position // in the source log
}

// Result summarises two logs that are equal.
type Result struct {
	Events int64  // in each log
	New    int64  // copied by this run
	Chain  string // hash chain over all events in their order, hex
}

// Copy appends the events of a source store to a target store in the order of the log, up to where
// the source ends now. Streams, revisions, ids, types and bodies stay the same. A store assigns
// positions and times itself, so a copied event has the original ones in its metadata. When the
// copied event is read, Recorded.Time is the original time. Copy leaves out streams whose names
// begin with $.
//
// Copy first compares the events that earlier runs have copied, so it can continue an interrupted
// copy. At the end it reads the new events back and compares them too. It returns ErrOtherLog if
// the target has an event that the source does not have at that place, ErrWrongRevision if another
// program writes to the target, ErrForeign, or an error of ReadLog.
//
// Copy sends several appends over one call without waiting. The embedded event store executes them
// in the order in which they were sent. If another store does not, for example when its leader
// changes, the final comparison detects it.
func Copy(ctx context.Context, from, to *eventstore.Store, tell func(Progress)) (Result, error) {
	c, err := compareLogs(ctx, from, to, tell)
	if err != nil {
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

// compareLogs compares the events of a target with those at the same places of the source. The
// returned copier continues after the last event of the target.
func compareLogs(
	ctx context.Context, from, to *eventstore.Store, tell func(Progress),
) (*copier, error) {
	head, err := from.Head(ctx)
	if err != nil {
		return nil, err
	}
	c := &copier{
		from: from, to: to, head: head, report: tell, source: newChain(), target: newChain(),
	}
	return c, c.compare(ctx, Comparing)
}

// Check compares the two logs and changes nothing. It returns ErrIncomplete if the target ends
// before the source does, and otherwise what Copy returns. New is 0.
func Check(ctx context.Context, from, to *eventstore.Store, tell func(Progress)) (Result, error) {
	c, err := compareLogs(ctx, from, to, tell)
	if err != nil {
		return Result{}, err
	}
	missing, first := int64(0), eventstore.Recorded{}
	for r, err := range eventsOfLog(ctx, from, c.source.at, c.head) {
		if err != nil {
			return Result{}, fmt.Errorf("source: %w", err)
		}
		if missing++; missing == 1 {
			first = r
		}
	}
	if missing > 0 {
		return Result{}, fmt.Errorf("%w: it has %d events and lacks %d. The first missing one is "+
			"event %d of %s, at position %s of the source, recorded at %s",
			ErrIncomplete, c.source.events, missing, first.Revision, first.Stream, first.Position,
			first.Time.UTC().Format(time.RFC3339))
	}
	return Result{Events: c.source.events, Chain: c.source.String()}, nil
}

// copier is the state of one Copy.
type copier struct {
	from, to *eventstore.Store
	head     eventstore.Position // where the copy ends in the source
	report   func(Progress)
	source   chain // over the compared events
	target   chain
	copied   int64
}

// compare compares both logs from where the previous comparison ended, up to the end of the target.
func (c *copier) compare(ctx context.Context, stage Stage) error {
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
				"has no more: was the target written to, or the source cut?",
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
		if c.source.events%reportEvery == 0 {
			c.report(Progress{
				Stage: stage, Events: c.source.events - began, At: original.Position, Head: c.head,
			})
		}
	}
	return nil
}

// copy appends the events of the source that follow the compared ones.
func (c *copier) copy(ctx context.Context) error {
	var window []*wire.BatchAppend
	var last pendingAppend
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
		if last.accepts(r, proposed) {
			last.add(proposed)
		} else {
			if len(window) == copyWindow {
				if err := c.store(ctx, window); err != nil {
					return err
				}
				window = window[:0]
			}
			last = pendingAppend{
				request: wire.NewBatchAppend(r.Stream, r.Revision-1, nil), stream: r.Stream,
				next: r.Revision,
			}
			last.add(proposed)
			window = append(window, last.request)
		}
		if c.copied++; c.copied%reportEvery == 0 {
			c.report(Progress{Stage: Copying, Events: c.copied, At: r.Position, Head: c.head})
		}
	}
	return c.store(ctx, window)
}

// store waits until appends are stored. It resumes them after an outage.
func (c *copier) store(ctx context.Context, window []*wire.BatchAppend) error {
	stored, err := c.to.AppendInOrder(ctx, window)
	if errors.Is(err, eventstore.ErrWrongRevision) {
		return fmt.Errorf(
			"stream %s of the target: %w: another program writes to it",
			window[stored].Stream(), err,
		)
	}
	if err != nil {
		return fmt.Errorf("target: %w", err)
	}
	return nil
}

// pendingAppend is an append that can take further events of its stream.
type pendingAppend struct {
	request *wire.BatchAppend // nil: there is none yet
	stream  string
	next    eventstore.Revision
	bytes   int
}

func (a *pendingAppend) accepts(
	r eventstore.Recorded, proposed *streams.BatchAppendReq_ProposedMessage,
) bool {
	continues := a.request != nil && a.stream == r.Stream && a.next == r.Revision
	return continues && len(a.request.Proposed) < copyAppendEvents &&
		a.bytes+proposedSize(proposed) <= copyAppendBytes
}

func (a *pendingAppend) add(proposed *streams.BatchAppendReq_ProposedMessage) {
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

// chain is a hash chain over the events of a log in their order. It covers everything of an event
// that a copy preserves.
type chain struct {
	events int64
	at     eventstore.Position // of the last event
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

// String returns the hash in hex.
func (c *chain) String() string { return hex.EncodeToString(c.sum[:]) }

var errEnough = errors.New("the caller wants no more events")

// eventsOfLog returns the events of ReadLog one by one.
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
