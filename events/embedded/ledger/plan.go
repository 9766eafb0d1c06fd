package ledger

import (
	"strings"

	"github.com/google/uuid"

	"linkledger/events/embedded/record"
	"linkledger/events/embedded/revision"
)

// writeTarget is the stream of a write. If it is a metadata stream, origin is the stream that it
// describes.
type writeTarget struct {
	stream string
	st     *record.StreamState

	origin      string
	originState *record.StreamState // nil unless stream is a metadata stream
}

func (l *Ledger) load(stream string) (t writeTarget, err error) {
	t.stream = stream
	if t.st, err = l.state(stream); err != nil {
		return writeTarget{}, err
	}
	if record.IsMetadataStream(stream) {
		t.origin = strings.TrimPrefix(stream, record.MetadataPrefix)
		t.originState, err = l.state(t.origin)
	}
	return t, err
}

func (l *Ledger) streamInfo(t writeTarget) revision.StreamInfo {
	return revision.StreamInfo{
		Stream:     t.stream,
		Last:       t.st.Last,
		Tombstoned: t.st.Tombstoned || (t.originState != nil && t.originState.Tombstoned),
		Soft:       t.st.SoftDeleted(),
		HasMeta:    t.st.MetaPos != 0,
		Recent:     func(id uuid.UUID) (revision.Entry, bool) { return l.recent.Get(t.stream, id) },
		At: func(number int64) (*record.Event, error) {
			return l.eventNumbered(t.stream, number)
		},
	}
}

// Outcome is the result of a write.
type Outcome struct {
	// Last is the number of the last event of the write, or of the stream if nothing was written.
	Last int64
	// Position is the position of the last event of the write, or of the log if nothing was
	// written.
	Position uint64
	Err      error
}

// Append decides an append and writes it to the group.
func (l *Ledger) Append(stream string, expected int64, events []record.Proposed) Outcome {
	t, err := l.load(stream)
	if err != nil {
		return Outcome{Err: err}
	}
	ids := make([]uuid.UUID, len(events))
	for i := range events {
		ids[i] = events[i].ID
	}
	v, err := l.streamInfo(t).Decide(expected, ids)
	switch {
	case err != nil:
		return Outcome{Err: err}
	case v.Replay:
		return Outcome{Last: v.Replayed.Number, Position: v.Replayed.Pos}
	case len(events) == 0:
		return Outcome{Last: t.st.Last, Position: l.head}
	case t.originState != nil:
		return l.writeMetadata(t, events)
	case v.Undelete:
		return l.writeUndeleting(t, events)
	}
	return l.outcome(l.appendEvents(stream, t.st, events))
}

func (l *Ledger) outcome(last *record.Event, err error) Outcome {
	if err != nil {
		return Outcome{Err: err}
	}
	return Outcome{Last: last.Number, Position: last.Position}
}

// writeUndeleting appends to a soft-deleted stream. Directly after the new events it writes
// metadata that makes the stream begin at the first new event. All reads come before the first
// change, because a read can fail and the ledger has no rollback.
func (l *Ledger) writeUndeleting(t writeTarget, events []record.Proposed) Outcome {
	meta, err := l.state(record.MetadataPrefix + t.stream)
	if err != nil {
		return Outcome{Err: err}
	}
	current, err := l.eventAt(t.st.MetaPos)
	if err != nil {
		return Outcome{Err: err}
	}
	metadata := record.WithTruncateBefore(current.Data, t.st.Last+1)
	last, err := l.appendEvents(t.stream, t.st, events)
	if err != nil {
		return Outcome{Err: err}
	}
	second := []record.Proposed{metadataEvent(metadata)}
	if _, err := l.appendMetadata(t.stream, t.st, meta, second); err != nil {
		return Outcome{Err: err}
	}
	return l.outcome(last, nil)
}

// writeMetadata appends to a metadata stream. If the stream that the metadata describes is
// soft-deleted, new metadata undeletes it. In this case a second metadata event keeps the deleted
// events hidden.
func (l *Ledger) writeMetadata(t writeTarget, events []record.Proposed) Outcome {
	undelete := t.originState.SoftDeleted()
	last, err := l.appendMetadata(t.origin, t.originState, t.st, events)
	if err != nil {
		return Outcome{Err: err}
	}
	if undelete {
		if metadata := record.WithTruncateBefore(last.Data, t.originState.Last+1); metadata != nil {
			second := []record.Proposed{metadataEvent(metadata)}
			if _, err := l.appendMetadata(t.origin, t.originState, t.st, second); err != nil {
				return Outcome{Err: err}
			}
		}
	}
	return l.outcome(last, nil)
}

// Delete soft-deletes a stream, which hides its present events. It fails with WrongError if the
// number of the last event is not as expected, or if the stream never existed.
func (l *Ledger) Delete(stream string, expected int64) Outcome {
	t, err := l.load(stream)
	if err != nil {
		return Outcome{Err: err}
	}
	// A new id makes sure that the deletion is not taken for a repeated write.
	if _, err := l.streamInfo(t).Decide(expected, []uuid.UUID{uuid.New()}); err != nil {
		return Outcome{Err: err}
	}
	if t.st.Last < 0 && t.st.MetaPos == 0 {
		return Outcome{
			Err: &revision.WrongError{Stream: stream, Expected: expected, Current: record.NoEvents},
		}
	}
	meta, err := l.state(record.MetadataPrefix + stream)
	if err != nil {
		return Outcome{Err: err}
	}
	deletion := []record.Proposed{metadataEvent(record.SoftDeleteMetadata)}
	return l.outcome(l.appendMetadata(stream, t.st, meta, deletion))
}

// Tombstone deletes a stream permanently.
func (l *Ledger) Tombstone(stream string, expected int64) Outcome {
	t, err := l.load(stream)
	if err != nil {
		return Outcome{Err: err}
	}
	if _, err := l.streamInfo(t).Decide(expected, []uuid.UUID{uuid.New()}); err != nil {
		return Outcome{Err: err}
	}
	p := record.Proposed{ID: uuid.New(), Type: record.TypeTombstone}
	return l.outcome(l.put(stream, t.st, record.TombstoneNumber, p))
}
