package ledger

import (
	"strings"

	"github.com/google/uuid"

	"linkledger/events/embedded/record"
	"linkledger/events/embedded/revision"
)

// target is a stream about to be written, with the stream that it describes
// when it is a metadata stream.
type target struct {
	stream string
	st     *record.StreamState

	origin      string
	originState *record.StreamState // nil unless stream is a metadata stream
}

func (l *Ledger) load(stream string) (t target, err error) {
	t.stream = stream
	if t.st, err = l.state(stream); err != nil {
		return target{}, err
	}
	if record.IsMetadataStream(stream) {
		t.origin = strings.TrimPrefix(stream, record.MetadataPrefix)
		t.originState, err = l.state(t.origin)
	}
	return t, err
}

func (l *Ledger) situation(t target) revision.Situation {
	return revision.Situation{
		Stream:     t.stream,
		Last:       t.st.Last,
		Tombstoned: t.st.Tombstoned || (t.originState != nil && t.originState.Tombstoned),
		Soft:       t.st.SoftDeleted(),
		HasMeta:    t.st.MetaPos != 0,
		Recent:     func(id uuid.UUID) (revision.Entry, bool) { return l.recent.Get(t.stream, id) },
		At:         func(number int64) (*record.Event, error) { return l.at(t.stream, number) },
	}
}

// Outcome answers a write.
type Outcome struct {
	// number of the last event of the write, or of the stream when nothing was written
	Last     int64
	Position uint64 // position of that event
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
	v, err := l.situation(t).Decide(expected, ids)
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
	return l.written(l.extend(stream, t.st, events))
}

func (l *Ledger) written(last *record.Event, err error) Outcome {
	if err != nil {
		return Outcome{Err: err}
	}
	return Outcome{Last: last.Number, Position: last.Position}
}

// writeUndeleting appends to a soft-deleted stream: directly behind the new
// events, its metadata is written anew to begin the stream at the first of them.
// All that can fail is read before anything is changed.
func (l *Ledger) writeUndeleting(t target, events []record.Proposed) Outcome {
	meta, err := l.state(record.MetadataPrefix + t.stream)
	if err != nil {
		return Outcome{Err: err}
	}
	current, err := l.record(t.st.MetaPos)
	if err != nil {
		return Outcome{Err: err}
	}
	metadata := record.WithTruncateBefore(current.Data, t.st.Last+1)
	last, err := l.extend(t.stream, t.st, events)
	if err != nil {
		return Outcome{Err: err}
	}
	if _, err := l.appendMetadata(
		t.stream, t.st, meta, []record.Proposed{metadataEvent(metadata)},
	); err != nil {
		return Outcome{Err: err}
	}
	return l.written(last, nil)
}

// writeMetadata appends to a metadata stream. New metadata for a soft-deleted
// stream undeletes it; then the events deleted before stay hidden.
func (l *Ledger) writeMetadata(t target, events []record.Proposed) Outcome {
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
	return l.written(last, nil)
}

// Delete soft-deletes a stream: it hides the events that are there.
func (l *Ledger) Delete(stream string, expected int64) Outcome {
	t, err := l.load(stream)
	if err != nil {
		return Outcome{Err: err}
	}
	if _, err := l.situation(t).Decide(expected, []uuid.UUID{uuid.New()}); err != nil {
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
	return l.written(
		l.appendMetadata(
			stream, t.st, meta, []record.Proposed{metadataEvent(record.SoftDeleteMetadata)},
		),
	)
}

// Tombstone ends a stream for good.
func (l *Ledger) Tombstone(stream string, expected int64) Outcome {
	t, err := l.load(stream)
	if err != nil {
		return Outcome{Err: err}
	}
	if _, err := l.situation(t).Decide(expected, []uuid.UUID{uuid.New()}); err != nil {
		return Outcome{Err: err}
	}
	p := record.Proposed{ID: uuid.New(), Type: record.TypeTombstone}
	return l.written(l.put(stream, t.st, record.TombstoneNumber, p))
}
