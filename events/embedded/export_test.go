package embedded

import (
	"linkledger/events/embedded/durable"
	"linkledger/events/embedded/groupcommit"
)

// Writer returns the writer of the log, for writes that no client can make.
func (s *Store) Writer() *groupcommit.Writer { return s.storage.Writer() }

// Log returns the durable part of the log.
func (s *Store) Log() *durable.Log { return s.storage.Log() }
