package commands

import (
	"linkledger/events/eventstore"
)

// ErrUnavailable means that the event store could not be reached in time. Whether anything was
// written is unknown; the same command may be repeated.
var ErrUnavailable = eventstore.ErrUnavailable

// ErrBusy means that other writers were faster in every attempt. Nothing was written; the same
// command may be repeated.
var ErrBusy = eventstore.ErrBusy

// ErrCut means that events of a stream cannot be read although they were written, so that what the
// command is about is not known. An operator has to look: audit verify names the stream.
var ErrCut = eventstore.ErrCut
