package streams

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"

	"github.com/maypok86/otter/v2"

	"linkledger/events/eventstore"
)

const (
	// longStream is how many events make a stream long. Others are read as fast as one event is.
	longStream = 200
	// maxCacheSize bounds the memory that long streams take, in bytes. One that would take more
	// by itself is not kept.
	maxCacheSize = 64 << 20
	// eventSize is about what an event takes beside its metadata.
	eventSize = 500
)

// longStreams keeps the long streams that were used last, so that a command reads what has come
// since alone: a stream of 10,000 events takes 100 times as long to read as all else that a command
// does. What is kept is as stored: notes are sealed.
type longStreams struct {
	store *eventstore.Store
	cache *otter.Cache[string, *cachedStream]
}

// cachedStream is a stream as far as it was read. It grows; what was handed out of it stays.
type cachedStream struct {
	size atomic.Uint32

	mu     sync.Mutex
	loaded History
}

func newLongStreams(store *eventstore.Store) *longStreams {
	return &longStreams{store: store, cache: otter.Must(&otter.Options[string, *cachedStream]{
		MaximumWeight: maxCacheSize,
		Weigher:       func(_ string, k *cachedStream) uint32 { return k.size.Load() },
	})}
}

// load returns all events of a stream, as they are stored.
func (l *longStreams) load(ctx context.Context, stream string) (History, error) {
	if kept, ok := l.cache.GetIfPresent(stream); ok {
		loaded, same, err := l.loadNew(ctx, stream, kept)
		if same || err != nil {
			return loaded, err
		}
		// the event store has another stream by now, from a backup perhaps
		l.cache.Invalidate(stream)
	}
	recorded, err := l.store.Load(ctx, stream)
	if err != nil {
		return History{}, err
	}
	loaded, err := decode(ctx, recorded)
	if err == nil && len(recorded) >= longStream {
		kept := new(cachedStream)
		kept.add(loaded)
		l.cache.Set(stream, kept)
	}
	return loaded, err
}

// loadNew reads what has come since. It is false where the last event that was kept is not in the
// stream.
func (l *longStreams) loadNew(
	ctx context.Context, stream string, kept *cachedStream,
) (History, bool, error) {
	known := kept.first(-1)
	last := known.Recorded[len(known.Recorded)-1]
	recorded, err := l.store.LoadFrom(ctx, stream, last.Revision)
	if err != nil || len(recorded) == 0 || recorded[0].ID != last.ID {
		return History{}, false, err
	}
	further, err := decode(ctx, recorded[1:])
	if err != nil {
		return History{}, false, err
	}
	if kept.addAt(len(known.Recorded), further) {
		l.cache.Set(stream, kept) // weighs it anew
	}
	return kept.first(len(known.Recorded) + len(further.Recorded)), true, nil
}

// first returns the first n events; -1: all.
func (k *cachedStream) first(n int) History {
	k.mu.Lock()
	defer k.mu.Unlock()
	if n < 0 {
		n = len(k.loaded.Recorded)
	}
	return History{Recorded: k.loaded.Recorded[:n:n], Events: k.loaded.Events[:n:n]}
}

// addAt adds events from an index on, but for those that others have added meanwhile. It is false
// where there are none.
func (k *cachedStream) addAt(index int, further History) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	there := len(k.loaded.Recorded) - index
	if there >= len(further.Recorded) {
		return false
	}
	k.add(History{Recorded: further.Recorded[there:], Events: further.Events[there:]})
	return true
}

// add keeps events without their bodies.
func (k *cachedStream) add(further History) {
	size := 0
	for i, r := range further.Recorded {
		r.Data, r.Metadata = nil, bytes.Clone(r.Metadata) // which lies beside the body
		k.loaded.Recorded = append(k.loaded.Recorded, r)
		k.loaded.Events = append(k.loaded.Events, further.Events[i])
		size += eventSize + len(r.Metadata)
	}
	k.size.Add(uint32(size))
}
