package record

import (
	"github.com/google/uuid"
)

// Proposed is an event of an append that is not written yet.
type Proposed struct {
	ID       uuid.UUID
	Type     string
	JSON     bool
	Metadata []byte
	Data     []byte
}

// The content types of events.
const (
	ContentJSON   = "application/json"
	ContentBinary = "application/octet-stream"
)
