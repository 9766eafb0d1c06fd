package webhooks

// This file reads links and tags from the log, as they were at an event.

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"linkledger/commands/domain"
	"linkledger/commands/streams"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventlog"
)

// maxReads is how many streams are read at once.
const maxReads = 32

// linkReader reads streams, each once for a batch.
type linkReader struct {
	streams *streams.Streams

	mu     sync.Mutex
	loaded map[string]streams.History // by stream
}

func newLinkReader(of *streams.Streams) *linkReader {
	return &linkReader{streams: of, loaded: make(map[string]streams.History)}
}

// reset forgets what was read, because a later batch has later events.
func (l *linkReader) reset() { clear(l.loaded) }

// preload reads the streams that the events of a batch need, at the same time.
func (l *linkReader) preload(
	ctx context.Context, batch []eventstore.Recorded, wanted func(account string) bool,
) error {
	needed := make(map[string]bool)
	for _, r := range batch {
		account := accountOf(r)
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

// accountOf returns the account that has caused an event, or the empty string if an operator has.
func accountOf(r eventstore.Recorded) string { return metadataOf(r).Account }

func metadataOf(r eventstore.Recorded) (m events.Metadata) {
	_ = json.Unmarshal(r.Metadata, &m) // foreign metadata says nothing
	return m
}

// history returns a stream, with nil for each event that cannot be decoded. It returns no events of
// a stream whose events are missing.
func (l *linkReader) history(ctx context.Context, stream string) (streams.History, error) {
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

// at returns a link before and after an event of its stream.
func (l *linkReader) at(
	ctx context.Context, id string, r eventstore.Recorded,
) (before, after linkState, err error) {
	loaded, err := l.history(ctx, events.LinkStream(id))
	if err != nil {
		return before, after, err
	}
	var link domain.Link
	for i, e := range loaded.Events {
		switch revision := loaded.Recorded[i].Revision; {
		case revision > r.Revision:
		case revision == r.Revision:
			before.link = link.Clone()
			link.Apply(e)
		default:
			link.Apply(e)
		}
	}
	after.link = link
	return l.labelled(ctx, before, after, r)
}

// asOf returns a link after all events up to a position.
func (l *linkReader) asOf(
	ctx context.Context, id string, r eventstore.Recorded,
) (linkState, error) {
	loaded, err := l.history(ctx, events.LinkStream(id))
	if err != nil {
		return linkState{}, err
	}
	var state linkState
	for i, e := range loaded.Events {
		if !loaded.Recorded[i].Position.After(r.Position) {
			state.link.Apply(e)
		}
	}
	_, state, err = l.labelled(ctx, linkState{}, state, r)
	return state, err
}

// labelled adds the labels that the tags of a link had at an event.
func (l *linkReader) labelled(
	ctx context.Context, before, after linkState, r eventstore.Recorded,
) (linkState, linkState, error) {
	if after.link.Account == "" {
		return before, after, nil
	}
	_, tags, err := l.tagsAt(ctx, after.link.Account, r)
	if err != nil {
		return before, after, err
	}
	before.labels, after.labels = tags.Labels(before.link.Tags), tags.Labels(after.link.Tags)
	return before, after, nil
}

// tagsAt returns the tags of an account before and after an event. If the event is of another
// stream, both are the same.
func (l *linkReader) tagsAt(
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
