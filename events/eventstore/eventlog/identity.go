package eventlog

// A log that was restored from a backup and then written on may have events at the positions that
// its readers know. Identities tell it from the log that they have read.

import (
	"encoding/binary"

	"github.com/google/uuid"
)

// Identity identifies the event at a position of the log. The zero Identity stands for no event.
type Identity struct {
	Position Position
	// ID is derived from the id of the event and the time when it was recorded. A client that
	// repeats an append after the restore of a backup stores the same event at another time.
	ID uuid.UUID
}

// IdentityOf returns the identity of an event.
func IdentityOf(r Recorded) Identity {
	at := binary.BigEndian.AppendUint64(nil, uint64(r.Time.UnixNano()))
	return Identity{Position: r.Position, ID: uuid.NewSHA1(r.ID, at)}
}
