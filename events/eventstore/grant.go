package eventstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
)

const (
	// allStreams is the name under which EventStoreDB has the rights on the log of all streams.
	allStreams = "$all"
	// adminsRole may read the log of all streams where nothing else is set.
	adminsRole = "$admins"
	aclField   = "$acl"
	readField  = "$r"
)

// LogReaders are the users and roles that may read the log of all streams.
type LogReaders struct {
	Before, After []string
}

// GrantLog lets a user, or a role, read the log of all streams, which EventStoreDB lets its administrators read alone, and
// keeps the other rights. It is repeated where somebody else changes them at the same time. The rights need an
// administrator: ErrDenied.
func (s *Store) GrantLog(ctx context.Context, reader string) (LogReaders, error) {
	for {
		readers, err := s.tryGrantLog(ctx, reader)
		if errors.Is(err, ErrWrongRevision) {
			continue
		}
		if err != nil {
			return LogReaders{}, fmt.Errorf("grant the right to read all streams: %w", err)
		}
		return readers, nil
	}
}

func (s *Store) tryGrantLog(ctx context.Context, reader string) (LogReaders, error) {
	stream, expected := MetadataStream(allStreams), NoStream
	var stored []byte
	last, err := s.Last(ctx, stream)
	switch {
	case err == nil:
		stored, expected = last.Data, last.Revision
	case !errors.Is(err, ErrNotFound):
		return LogReaders{}, err
	}
	metadata, readers, err := withReader(stored, reader)
	if err != nil || len(readers.After) == len(readers.Before) {
		return readers, err
	}
	w := Write{Stream: stream, Expected: expected, Command: uuid.New()}
	_, err = s.send(ctx, s.appender, w, []*streams.BatchAppendReq_ProposedMessage{{
		Id:       wireID(EventID(w.Command, stream, 0)),
		Metadata: map[string]string{"type": TypeMetadata, "content-type": "application/json"},
		Data:     metadata,
	}})
	return readers, err
}

// withReader adds a reader to the rights in the metadata of a stream.
func withReader(stored []byte, reader string) (metadata []byte, readers LogReaders, err error) {
	fields, acl := make(map[string]json.RawMessage), make(map[string]json.RawMessage)
	if len(stored) > 0 {
		err = json.Unmarshal(stored, &fields)
	}
	if set, ok := fields[aclField]; ok && err == nil {
		err = json.Unmarshal(set, &acl)
	}
	if err != nil {
		return nil, LogReaders{}, fmt.Errorf("the metadata of %s is not what EventStoreDB writes, mend it first: %w", allStreams, err)
	}
	readers.Before = []string{adminsRole}
	if set, ok := acl[readField]; ok {
		if readers.Before, err = roles(set); err != nil {
			return nil, LogReaders{}, err
		}
	}
	readers.After = readers.Before
	if !slices.Contains(readers.Before, reader) {
		readers.After = append(slices.Clone(readers.Before), reader)
	}
	if acl[readField], err = json.Marshal(readers.After); err != nil {
		return nil, LogReaders{}, err
	}
	if fields[aclField], err = json.Marshal(acl); err != nil {
		return nil, LogReaders{}, err
	}
	metadata, err = json.Marshal(fields)
	return metadata, readers, err
}

// roles reads who has a right: one name, or several.
func roles(set json.RawMessage) ([]string, error) {
	var one string
	if json.Unmarshal(set, &one) == nil {
		return []string{one}, nil
	}
	var several []string
	if err := json.Unmarshal(set, &several); err != nil {
		return nil, fmt.Errorf("the readers of %s are not what EventStoreDB writes, mend them first: %w", allStreams, err)
	}
	return several, nil
}
