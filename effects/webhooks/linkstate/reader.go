// Package linkstate reads links and tags from the log in the state that they had at an event. So a
// payload does not depend on when it is made.
package linkstate

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"linkledger/commands/domain"
	"linkledger/commands/streams"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventlog"
	"linkledger/tagexpr"
)

// maxReads is how many streams are read at once.
const maxReads = 32

// State is a link at one time. The zero State is a link that did not exist.
type State struct {
	Link   domain.Link
	Labels []string // of its tags
}

// Matches reports whether the link existed and matches an expression.
func (s State) Matches(expr *tagexpr.Expr) bool {
	if s.Link.ID == "" {
		return false
	}
	return s.Link.Matches(expr, func(label string) bool {
		return slices.ContainsFunc(s.Labels, func(own string) bool {
			return domain.PlainLabel(own) == domain.PlainLabel(label)
		})
	})
}

// Reader reads streams, each once for a batch.
type Reader struct {
	streams *streams.Streams

	tags    map[string]*tagFold // by account
	failing *Failing

	mu     sync.Mutex
	loaded map[string]streams.History // by stream
}

// Failing remembers since when streams cannot be opened for lack of a key. It outlasts a Reader.
type Failing struct {
	mu    sync.Mutex
	since map[string]time.Time
}

// keyPatience is how long a key may be missing, as in an outage of PostgreSQL, before a stream is
// read without it.
const keyPatience = 30 * time.Second

// forLong reports whether a stream has failed for as long as keyPatience.
func (f *Failing) forLong(stream string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.since == nil {
		f.since = make(map[string]time.Time)
	}
	began, known := f.since[stream]
	if !known {
		f.since[stream] = time.Now()
	}
	return known && time.Since(began) >= keyPatience
}

func (f *Failing) ended(stream string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.since, stream)
}

// New returns a Reader.
func New(of *streams.Streams, failing *Failing) *Reader {
	return &Reader{
		streams: of, failing: failing, tags: make(map[string]*tagFold),
		loaded: make(map[string]streams.History),
	}
}

// Reset forgets what was read, because a later batch has later events.
func (l *Reader) Reset() {
	clear(l.loaded)
	clear(l.tags)
}

// Preload reads the streams that the events of a batch need, at the same time.
func (l *Reader) Preload(
	ctx context.Context, batch []eventstore.Recorded, wanted func(account string) bool,
) error {
	needed := make(map[string]bool)
	for _, r := range batch {
		account := AccountOf(r)
		if account == "" || !wanted(account) || !strings.HasPrefix(r.Type, "url.") {
			continue
		}
		if id, ok := events.LinkIn(r.Stream); ok {
			needed[events.LinkStream(id)] = true
			needed[events.StreamTags+account] = true
		}
	}
	return l.read(ctx, needed)
}

// PreloadLinks reads the streams of links at the same time.
func (l *Reader) PreloadLinks(ctx context.Context, ids map[string]bool) error {
	needed := make(map[string]bool, len(ids))
	for id := range ids {
		needed[events.LinkStream(id)] = true
	}
	return l.read(ctx, needed)
}

func (l *Reader) read(ctx context.Context, needed map[string]bool) error {
	reading, ctx := errgroup.WithContext(ctx)
	reading.SetLimit(maxReads)
	for stream := range needed {
		reading.Go(func() error {
			_, err := l.history(ctx, stream)
			return err
		})
	}
	return reading.Wait()
}

// AccountOf returns the account that has caused an event, or the empty string if an operator has.
func AccountOf(r eventstore.Recorded) string { return MetadataOf(r).Account }

// MetadataOf returns the metadata of an event.
func MetadataOf(r eventstore.Recorded) (m events.Metadata) {
	_ = json.Unmarshal(r.Metadata, &m) // foreign metadata says nothing
	return m
}

// history returns a stream, with nil for each event that cannot be decoded. It returns no events of
// a stream whose events are missing.
func (l *Reader) history(ctx context.Context, stream string) (streams.History, error) {
	l.mu.Lock()
	known, ok := l.loaded[stream]
	l.mu.Unlock()
	if ok {
		return known, nil
	}
	loaded, err := l.streams.Load(ctx, stream)
	switch {
	case err == nil:
		l.failing.ended(stream)
	case errors.Is(err, streams.ErrNoKeys),
		errors.Is(err, streams.ErrNoKey) && l.failing.forLong(stream):
		loaded, err = l.streams.LoadReadable(ctx, stream) // the notes stay sealed
	case eventlog.IsUndecoded(err):
		err = nil
	}
	if errors.Is(err, eventstore.ErrCut) {
		loaded, err = streams.History{}, nil
	}
	if err != nil {
		return streams.History{}, err
	}
	l.mu.Lock()
	l.loaded[stream] = loaded
	l.mu.Unlock()
	return loaded, nil
}

// At returns a link before and after an event of its stream.
func (l *Reader) At(
	ctx context.Context, id string, r eventstore.Recorded,
) (before, after State, err error) {
	loaded, err := l.history(ctx, events.LinkStream(id))
	if err != nil {
		return before, after, err
	}
	var link domain.Link
	for i, e := range loaded.Events {
		switch revision := loaded.Recorded[i].Revision; {
		case revision > r.Revision:
		case revision == r.Revision:
			before.Link = link.Clone()
			link.Apply(e)
		default:
			link.Apply(e)
		}
	}
	after.Link = link
	return l.labelled(ctx, before, after, r)
}

// AsOf returns a link after all events up to a position.
func (l *Reader) AsOf(
	ctx context.Context, id string, r eventstore.Recorded,
) (State, error) {
	loaded, err := l.history(ctx, events.LinkStream(id))
	if err != nil {
		return State{}, err
	}
	var state State
	for i, e := range loaded.Events {
		if !loaded.Recorded[i].Position.After(r.Position) {
			state.Link.Apply(e)
		}
	}
	_, state, err = l.labelled(ctx, State{}, state, r)
	return state, err
}

// labelled adds the labels that the tags of a link had at an event.
func (l *Reader) labelled(
	ctx context.Context, before, after State, r eventstore.Recorded,
) (State, State, error) {
	if after.Link.Account == "" {
		return before, after, nil
	}
	fold, err := l.tagsOf(ctx, after.Link.Account)
	if err != nil {
		return before, after, err
	}
	fold.advance(func(tag eventstore.Recorded) bool { return !tag.Position.After(r.Position) })
	before.Labels = fold.tags.Labels(before.Link.Tags)
	after.Labels = fold.tags.Labels(after.Link.Tags)
	return before, after, nil
}

// TagAt returns a tag of an account before and after an event of the stream of tags. lives is false
// if the event deleted it.
func (l *Reader) TagAt(
	ctx context.Context, account, id string, r eventstore.Recorded,
) (was, is domain.Tag, lives bool, err error) {
	fold, err := l.tagsOf(ctx, account)
	if err != nil {
		return was, is, false, err
	}
	fold.advance(func(tag eventstore.Recorded) bool { return r.Position.After(tag.Position) })
	was, _ = fold.tags.ByID(id)
	fold.advance(func(tag eventstore.Recorded) bool { return !tag.Position.After(r.Position) })
	is, lives = fold.tags.ByID(id)
	return was, is, lives, nil
}

// tagFold is the tags of an account after the first events of their stream. It only goes forward,
// because the events of a batch are in the order of the log.
type tagFold struct {
	history streams.History
	next    int // index of the first event that is not applied
	tags    domain.Tags
}

// tagsOf returns the fold of the tags of an account.
func (l *Reader) tagsOf(ctx context.Context, account string) (*tagFold, error) {
	if fold, ok := l.tags[account]; ok {
		return fold, nil
	}
	loaded, err := l.history(ctx, events.StreamTags+account)
	if err != nil {
		return nil, err
	}
	fold := &tagFold{history: loaded}
	l.tags[account] = fold
	return fold, nil
}

// advance applies events while wanted returns true.
func (f *tagFold) advance(wanted func(eventstore.Recorded) bool) {
	for f.next < len(f.history.Events) && wanted(f.history.Recorded[f.next]) {
		f.tags.Apply(f.history.Events[f.next])
		f.next++
	}
}
