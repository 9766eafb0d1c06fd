package eventstore

import (
	"context"
	"errors"
	"fmt"
)

// LoadFrom returns the events of a stream from a revision on, oldest first. A stream that does not exist has none.
func (s *Store) LoadFrom(ctx context.Context, stream string, from Revision) ([]Recorded, error) {
	var all []Recorded
	for {
		page, err := s.read(ctx, "read", eventsOf(stream, from+Revision(len(all)), loadPage))
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
