package request

import (
	"fmt"

	"linkledger/events/embedded/dialect"
	"linkledger/events/embedded/failure"
	"linkledger/events/embedded/record"
)

// Append is an append whose events are still arriving.
type Append struct {
	Stream   string
	Expected int64
	Events   []record.Proposed
	Size     int // bytes, as countedSize counts them
}

// Add adds one event. If the append becomes larger than limit bytes, Add returns a TooLargeError.
func (d *Append) Add(m proposedMessage, limit int) error {
	p, err := parseProposed(m)
	if err != nil {
		return err
	}
	if d.Size += countedSize(p); d.Size > limit {
		return &failure.TooLargeError{Limit: limit}
	}
	if len(d.Events) == maxAppendEvents {
		return dialect.Invalid(fmt.Sprintf("the append has more than %d events", maxAppendEvents))
	}
	d.Events = append(d.Events, p)
	return nil
}
