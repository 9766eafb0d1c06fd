package embedded

import (
	"strings"

	"github.com/google/uuid"
)

// target is a stream about to be written, with the stream that it describes
// when it is a metadata stream.
type target struct {
	stream string
	st     *streamState

	origin      string
	originState *streamState // nil unless stream is a metadata stream
}

func (l *ledger) load(stream string) (t target, err error) {
	t.stream = stream
	if t.st, err = l.state(stream); err != nil {
		return target{}, err
	}
	if isMetadataStream(stream) {
		t.origin = strings.TrimPrefix(stream, metadataPrefix)
		t.originState, err = l.state(t.origin)
	}
	return t, err
}

func (l *ledger) situation(t target) situation {
	return situation{
		stream:     t.stream,
		last:       t.st.last,
		tombstoned: t.st.tombstoned || (t.originState != nil && t.originState.tombstoned),
		soft:       t.st.softDeleted(),
		hasMeta:    t.st.metaPos != 0,
		recent:     func(id uuid.UUID) (recentEntry, bool) { return l.recent.get(t.stream, id) },
		at:         func(number int64) (*record, error) { return l.at(t.stream, number) },
	}
}

// outcome answers a write.
type outcome struct {
	last int64  // number of the last event of the write, or of the stream when nothing was written
	pos  uint64 // position of that event
	err  error
}

// planAppend decides an append and writes it to the group.
func (l *ledger) planAppend(stream string, expected int64, events []proposed) outcome {
	t, err := l.load(stream)
	if err != nil {
		return outcome{err: err}
	}
	ids := make([]uuid.UUID, len(events))
	for i := range events {
		ids[i] = events[i].id
	}
	v, err := l.situation(t).decide(expected, ids)
	switch {
	case err != nil:
		return outcome{err: err}
	case v.replay:
		return outcome{last: v.replayed.number, pos: v.replayed.pos}
	case len(events) == 0:
		return outcome{last: t.st.last, pos: l.head}
	case t.originState != nil:
		return l.writeMetadata(t, events)
	case v.undelete:
		return l.writeUndeleting(t, events)
	}
	return l.written(l.append(stream, t.st, events))
}

func (l *ledger) written(last *record, err error) outcome {
	if err != nil {
		return outcome{err: err}
	}
	return outcome{last: last.number, pos: last.pos}
}

// writeUndeleting appends to a soft-deleted stream: directly behind the new
// events, its metadata is written anew to begin the stream at the first of them.
// All that can fail is read before anything is changed.
func (l *ledger) writeUndeleting(t target, events []proposed) outcome {
	meta, err := l.state(metadataPrefix + t.stream)
	if err != nil {
		return outcome{err: err}
	}
	current, err := l.record(t.st.metaPos)
	if err != nil {
		return outcome{err: err}
	}
	metadata := withTruncateBefore(current.data, t.st.last+1)
	last, err := l.append(t.stream, t.st, events)
	if err != nil {
		return outcome{err: err}
	}
	if _, err := l.appendMetadata(t.stream, t.st, meta, []proposed{metadataEvent(metadata)}); err != nil {
		return outcome{err: err}
	}
	return l.written(last, nil)
}

// writeMetadata appends to a metadata stream. New metadata for a soft-deleted
// stream undeletes it; then the events deleted before stay hidden.
func (l *ledger) writeMetadata(t target, events []proposed) outcome {
	undelete := t.originState.softDeleted()
	last, err := l.appendMetadata(t.origin, t.originState, t.st, events)
	if err != nil {
		return outcome{err: err}
	}
	if undelete {
		if metadata := withTruncateBefore(last.data, t.originState.last+1); metadata != nil {
			second := []proposed{metadataEvent(metadata)}
			if _, err := l.appendMetadata(t.origin, t.originState, t.st, second); err != nil {
				return outcome{err: err}
			}
		}
	}
	return l.written(last, nil)
}

// planDelete soft-deletes a stream: it hides the events that are there.
func (l *ledger) planDelete(stream string, expected int64) outcome {
	t, err := l.load(stream)
	if err != nil {
		return outcome{err: err}
	}
	if _, err := l.situation(t).decide(expected, []uuid.UUID{uuid.New()}); err != nil {
		return outcome{err: err}
	}
	if t.st.last < 0 && t.st.metaPos == 0 {
		return outcome{err: &wrongVersionError{stream, expected, noEvents}}
	}
	meta, err := l.state(metadataPrefix + stream)
	if err != nil {
		return outcome{err: err}
	}
	return l.written(l.appendMetadata(stream, t.st, meta, []proposed{metadataEvent(softDeleteMetadata)}))
}

// planTombstone ends a stream for good.
func (l *ledger) planTombstone(stream string, expected int64) outcome {
	t, err := l.load(stream)
	if err != nil {
		return outcome{err: err}
	}
	if _, err := l.situation(t).decide(expected, []uuid.UUID{uuid.New()}); err != nil {
		return outcome{err: err}
	}
	p := proposed{id: uuid.New(), kind: typeTombstone}
	return l.written(l.put(stream, t.st, tombstoneNumber, p))
}
