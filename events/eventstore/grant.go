package eventstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"

	"linkledger/events/eventstore/metadata"
	"linkledger/events/eventstore/wire"
)

// ErrNoUser means that the event store has no user or role of this name, or that the user is
// disabled.
var ErrNoUser = errors.New("the event store has no such user")

// userStream begins the name of the stream in which EventStoreDB keeps a user.
const userStream = "$user-"

// builtInRoles are the roles that each EventStoreDB has.
var builtInRoles = []string{"$admins", "$ops", "$all"}

// checkUser returns ErrNoUser unless the event store has the user or role.
func (s *Store) checkUser(ctx context.Context, name string) error {
	if slices.Contains(builtInRoles, name) {
		return nil
	}
	last, err := s.Last(ctx, userStream+name)
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%w: %s", ErrNoUser, name)
	}
	if err != nil {
		return fmt.Errorf("look for the user %s: %w", name, err)
	}
	var user struct{ Disabled bool }
	if err := json.Unmarshal(last.Data, &user); err == nil && user.Disabled {
		return fmt.Errorf("%w: %s is disabled", ErrNoUser, name)
	}
	return nil
}

// GrantLog gives a user or role the right to read the log of all streams, which by default only
// administrators of EventStoreDB have. It keeps the other rights, and retries if they are changed
// concurrently. It returns ErrDenied if the credentials of the Store do not belong to an
// administrator, and ErrNoUser if there is no such user or role.
func (s *Store) GrantLog(ctx context.Context, reader string) (metadata.LogReaders, error) {
	if err := s.checkUser(ctx, reader); err != nil {
		return metadata.LogReaders{}, err
	}
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
