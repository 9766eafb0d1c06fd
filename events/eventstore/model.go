package eventstore

import "linkledger/events/eventstore/eventlog"

// These aliases re-export package eventlog, which the packages below the Store also import.
type (
	// Position is the position of an event in the log of all streams.
	Position = eventlog.Position
	// Revision is the number of an event in its stream.
	Revision = eventlog.Revision
	// Recorded is a stored event.
	Recorded = eventlog.Recorded
	// Filter selects events of the log.
	Filter = eventlog.Filter
	// DecodeError is the error about a stored event that this program cannot make sense of.
	DecodeError = eventlog.DecodeError
)

// NoStream is the revision of a stream that does not exist.
const NoStream = eventlog.NoStream

// Errors of calls. Package eventlog documents them.
var (
	ErrWrongRevision   = eventlog.ErrWrongRevision
	ErrCut             = eventlog.ErrCut
	ErrStreamDeleted   = eventlog.ErrStreamDeleted
	ErrNotFound        = eventlog.ErrNotFound
	ErrUnavailable     = eventlog.ErrUnavailable
	ErrRefusesWrites   = eventlog.ErrRefusesWrites
	ErrTooLarge        = eventlog.ErrTooLarge
	ErrDenied          = eventlog.ErrDenied
	ErrForbidden       = eventlog.ErrForbidden
	ErrInvalid         = eventlog.ErrInvalid
	ErrPositionInvalid = eventlog.ErrPositionInvalid
	ErrForeign         = eventlog.ErrForeign
	ErrOtherLog        = eventlog.ErrOtherLog
	ErrClosed          = eventlog.ErrClosed
)
