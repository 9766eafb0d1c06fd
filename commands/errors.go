package commands

import (
	"linkledger/events/eventstore"
)

// ErrUnavailable means that the event store could not be reached in time. Whether anything was
// written is unknown; the same command may be repeated.
var ErrUnavailable = eventstore.ErrUnavailable

// ErrRefusesWrites means that the event store accepts no writes until its disk is mended. Nothing
// was written. It wraps ErrUnavailable.
var ErrRefusesWrites = eventstore.ErrRefusesWrites

// ErrBusy means that other writers were faster in every attempt. Nothing was written; the same
// command may be repeated.
var ErrBusy = eventstore.ErrBusy

// DecodeError reports a stored event that this program cannot decode, so the state that the command
// decides on is unknown. A newer version or another program has written the event, and an operator
// must act.
type DecodeError = eventstore.DecodeError

// ErrCut means that events were written to a stream but can no longer be read, so the state that
// the command decides on is unknown. An operator must act. The command audit verify names the
// stream.
var ErrCut = eventstore.ErrCut
