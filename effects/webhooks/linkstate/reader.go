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

	mu     sync.Mutex
	loaded map[string]streams.History // by stream
}

// New returns a Reader.
func New(of *streams.Streams) *Reader {
	return &Reader{streams: of, loaded: make(map[string]streams.History)}
}

// Reset forgets what was read, because a later batch has later events.
func (l *Reader) Reset() { clear(l.loaded) }

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
	case errors.Is(err, streams.ErrNoKeys): // the notes stay sealed
		loaded, err = l.streams.LoadReadable(ctx, stream)
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
	_, tags, err := l.TagsAt(ctx, after.Link.Account, r)
	if err != nil {
		return before, after, err
	}
	before.Labels, after.Labels = tags.Labels(before.Link.Tags), tags.Labels(after.Link.Tags)
	return before, after, nil
}

// TagsAt returns the tags of an account before and after an event. If the event is of another
// stream, both are the same.
func (l *Reader) TagsAt(
	ctx context.Context, account string, r eventstore.Recorded,
) (before, after domain.Tags, err error) {
	loaded, err := l.history(ctx, events.StreamTags+account)
	if err != nil {
		return before, after, err
	}
	for i, e := range loaded.Events {
		if loaded.Recorded[i].Position.After(r.Position) {
			break
		}
		if loaded.Recorded[i].ID != r.ID || !strings.HasPrefix(r.Stream, events.StreamTags) {
			before.Apply(e)
		}
		after.Apply(e)
	}
	return before, after, nil
}
