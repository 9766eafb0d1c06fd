package eventstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"

	"linkledger/events/eventstore/metadata"
	"linkledger/events/eventstore/wire"
)

// GrantLog gives a user or role the right to read the log of all streams, which by default only
// administrators of EventStoreDB have. It keeps the other rights, and retries if they are changed
// concurrently. It returns ErrDenied if the credentials of the Store are not those of an
// administrator.
func (s *Store) GrantLog(ctx context.Context, reader string) (metadata.LogReaders, error) {
	for {
		readers, err := s.tryGrantLog(ctx, reader)
		if errors.Is(err, ErrWrongRevision) {
			continue
		}
		if err != nil {
			return metadata.LogReaders{}, fmt.Errorf("grant the right to read all streams: %w", err)
		}
		return readers, nil
	}
}

func (s *Store) tryGrantLog(ctx context.Context, reader string) (metadata.LogReaders, error) {
	stream, expected := metadata.StreamOf(metadata.AllStreams), NoStream
	var stored []byte
	last, err := s.Last(ctx, stream)
	switch {
	case err == nil:
		stored, expected = last.Data, last.Revision
	case !errors.Is(err, ErrNotFound):
		return metadata.LogReaders{}, err
	}
	rights, readers, err := metadata.WithReader(stored, reader)
	if err != nil || len(readers.After) == len(readers.Before) {
		return readers, err
	}
	w := Write{Stream: stream, Expected: expected, Command: uuid.New()}
	_, err = s.send(ctx, s.appender, w, []*streams.BatchAppendReq_ProposedMessage{
		wire.ProposedMessage(EventID(w.Command, stream, 0), metadata.TypeMetadata, rights, nil),
	})
	return readers, err
}
