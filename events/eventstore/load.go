package eventstore

import (
	"context"
	"errors"
	"fmt"

	"linkledger/events/eventstore/metadata"
	"linkledger/events/eventstore/wire"
)

// loadPage is how many events Load requests at a time.
const loadPage = 500

// Load returns all events of a stream, oldest first. It returns no events if the stream was never
// written, and ErrCut if events are missing. If it finds no events, it makes a second read, which
// tells a stream that was never written from a deleted one.
func (s *Store) Load(ctx context.Context, stream string) ([]Recorded, error) {
	all, err := s.LoadToAppend(ctx, stream)
	if err == nil && len(all) == 0 {
		err = s.checkNeverWritten(ctx, stream)
	}
	return all, err
}

// LoadToAppend is Load for callers that append only if the stream is empty. It makes no second
// read, because the append of the caller returns ErrCut if the stream was deleted.
func (s *Store) LoadToAppend(ctx context.Context, stream string) ([]Recorded, error) {
	var all []Recorded
	for {
		page, err := s.read(ctx, wire.EventsOf(stream, Revision(len(all)), loadPage))
		if errors.Is(err, ErrNotFound) && len(all) == 0 {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("load %s: %w", stream, err)
		}
		for _, r := range page {
			if r.Revision != Revision(len(all)) {
				return nil, fmt.Errorf(
					"load %s: %w: event %d is missing before event %d", stream, ErrCut, len(all),
					r.Revision,
				)
			}
			all = append(all, r)
		}
		if len(all) == 0 {
			return nil, fmt.Errorf("load %s: %w: none of its events can be read", stream, ErrCut)
		}
		if len(page) < loadPage {
			return all, nil
		}
	}
}

// First returns the first readable event of a stream, or ErrNotFound if there is none.
func (s *Store) First(ctx context.Context, stream string) (Recorded, error) {
	page, err := s.read(ctx, wire.EventsOf(stream, 0, 1))
	if err == nil && len(page) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return Recorded{}, fmt.Errorf("first event of %s: %w", stream, err)
	}
	return page[0], nil
}

// Last returns the last event of a stream, or ErrNotFound if the stream was never written. It
// returns ErrCut if that event cannot be read. It does not detect missing earlier events.
func (s *Store) Last(ctx context.Context, stream string) (Recorded, error) {
	page, err := s.read(ctx, wire.LastOf(stream))
	if errors.Is(err, ErrNotFound) {
		if cut := s.checkNeverWritten(ctx, stream); cut != nil {
			return Recorded{}, cut
		}
	}
	if err == nil && len(page) == 0 {
		err = fmt.Errorf("%w: none of its events can be read", ErrCut)
	}
	if err != nil {
		return Recorded{}, fmt.Errorf("last event of %s: %w", stream, err)
	}
	return page[0], nil
}

// checkNeverWritten returns ErrCut if a stream without readable events was deleted, and nil if it
// was never written. A read of the stream does not tell one from the other, but a deletion leaves
// metadata.
func (s *Store) checkNeverWritten(ctx context.Context, stream string) error {
	page, err := s.read(ctx, wire.LastOf(metadata.StreamOf(stream)))
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("metadata of %s: %w", stream, err)
	case len(page) == 0:
		return nil
	}
	if hidden := metadata.HiddenBy(page[0].Data); len(hidden) > 0 {
		return fmt.Errorf("load %s: %w: it was deleted (%s)", stream, ErrCut, hidden)
	}
	return nil
}

// LoadFrom returns the events of a stream from a revision on, oldest first. It returns none if the
// stream does not exist. The caller MUST compare the first event with the one that it expects,
// because LoadFrom does not detect missing events.
func (s *Store) LoadFrom(ctx context.Context, stream string, from Revision) ([]Recorded, error) {
	var all []Recorded
	for {
		page, err := s.read(ctx, wire.EventsOf(stream, from+Revision(len(all)), loadPage))
		if errors.Is(err, ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("load %s from revision %d: %w", stream, from, err)
		}
		all = append(all, page...)
		if len(page) < loadPage {
			return all, nil
		}
	}
}

// Page returns at most limit events of a stream from a revision on, oldest first. It returns none
// if the stream does not exist.
func (s *Store) Page(
	ctx context.Context, stream string, from Revision, limit uint64,
) ([]Recorded, error) {
	page, err := s.read(ctx, wire.EventsOf(stream, from, limit))
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load %s from revision %d: %w", stream, from, err)
	}
	return page, nil
}
