package request

import (
	"fmt"

	"linkledger/events/embedded/dialect"
	"linkledger/events/embedded/failure"
	"linkledger/events/embedded/record"
)

// Append is an append while its events arrive.
type Append struct {
	Stream   string
	Expected int64
	Events   []record.Proposed
	Size     int
}

// Add takes one more event, unless that makes the append larger than limit.
func (d *Append) Add(m proposedMessage, limit int) error {
	p, err := parseProposed(m)
	if err != nil {
		return err
	}
	if d.Size += appendSize(p); d.Size > limit {
		return &failure.TooLargeError{Limit: limit}
	}
	if len(d.Events) == maxAppendEvents {
		return dialect.Invalid(fmt.Sprintf("the append has more than %d events", maxAppendEvents))
	}
	d.Events = append(d.Events, p)
	return nil
}
