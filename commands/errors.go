package commands

import (
	"linkledger/events/eventstore"
)

// ErrUnavailable means that the event store could not be reached in time. Whether anything was
// written is unknown; the same command may be repeated.
var ErrUnavailable = eventstore.ErrUnavailable

// ErrRefusesWrites means that the event store accepts no writes until its disk is mended. Nothing
// was written. It is an ErrUnavailable.
var ErrRefusesWrites = eventstore.ErrRefusesWrites

// ErrBusy means that other writers were faster in every attempt. Nothing was written; the same
// command may be repeated.
var ErrBusy = eventstore.ErrBusy

// DecodeError is the error about a stored event that this program cannot make sense of, so the
// state that the command decides on is unknown. An operator must act: a newer version or another
// program has written the event.
type DecodeError = eventstore.DecodeError

// ErrCut means that events of a stream were written and cannot be read, so the state that the
// command decides on is unknown. An operator must act: audit verify names the stream.
var ErrCut = eventstore.ErrCut
