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
	// longStream is the number of events from which on a stream is cached. A shorter stream takes
	// about as long to read as one event.
	longStream = 200
	// maxCacheSize bounds the cached streams, in bytes. A larger stream is not cached.
	maxCacheSize = 64 << 20
	// eventSize is the approximate memory of an event without its metadata, in bytes.
	eventSize = 500
)

// longStreams caches the long streams that were used last, so that a command reads only the new
// events: a stream of 10,000 events takes 100 times as long to read as everything else in a
// command. Cached notes stay sealed.
type longStreams struct {
	store *eventstore.Store
	cache *otter.Cache[string, *cachedStream]
}

// cachedStream is the cached part of a stream. It only grows, so slices of it stay valid.
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

// load returns all events of a stream, with their personal data sealed.
func (l *longStreams) load(ctx context.Context, stream string) (History, error) {
	if kept, ok := l.cache.GetIfPresent(stream); ok {
		loaded, same, err := l.loadNew(ctx, stream, kept)
		if same || err != nil {
			return loaded, err
		}
		// The event store has another stream by that name, perhaps from a backup.
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

// loadNew reads the events after the cached ones. It returns false if the last cached event is not
// in the stream.
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
		l.cache.Set(stream, kept) // updates its weight
	}
	return kept.first(len(known.Recorded) + len(further.Recorded)), true, nil
}

// first returns the first n events, or all if n is -1.
func (k *cachedStream) first(n int) History {
	k.mu.Lock()
	defer k.mu.Unlock()
	if n < 0 {
		n = len(k.loaded.Recorded)
	}
	return k.loaded.first(n)
}

// addAt adds events from an index on, except for events that are already cached. It returns false
// if no event is new.
func (k *cachedStream) addAt(index int, further History) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	there := len(k.loaded.Recorded) - index
	if there >= len(further.Recorded) {
		return false
	}
	k.add(further.from(there))
	return true
}

// add caches events without their encoded bodies.
func (k *cachedStream) add(further History) {
	size := 0
	for i, r := range further.Recorded {
		// a clone, because the metadata shares memory with the body
		r.Data, r.Metadata = nil, bytes.Clone(r.Metadata)
		k.loaded.Recorded = append(k.loaded.Recorded, r)
		k.loaded.Events = append(k.loaded.Events, further.Events[i])
		size += eventSize + len(r.Metadata)
	}
	k.loaded.Undecoded = append(k.loaded.Undecoded, further.Undecoded...)
	k.size.Add(uint32(size))
}
