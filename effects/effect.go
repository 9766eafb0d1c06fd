package effects

import (
	"context"
	"time"

	"linkledger/effects/outbox"
	"linkledger/events/eventstore"
)

// Effect describes what is done outside of the database because of events.
type Effect struct {
	Name   string
	Filter eventstore.Filter // the events that it follows
	// Delayable reports whether an event may wait for others, until MaxDelay. If it is nil, no
	// event may.
	Delayable func(eventstore.Recorded) bool
	MaxDelay  time.Duration
	// Registers selects the events that make, change and remove receivers. Filter MUST select them
	// too.
	Registers eventstore.Filter
	// Begin returns the Plan of an owner. receivers are the ones at the checkpoint.
	Begin func(ctx context.Context, receivers []outbox.Receiver) (Plan, error)
	// Do makes one attempt to deliver a message. It MUST end within
	// dispatch.AttemptTimeout.
	Do func(ctx context.Context, to outbox.Receiver, m outbox.Message) outbox.Outcome
	// Suspend stores in the log that a receiver gets nothing any more, and why.
	Suspend func(ctx context.Context, of outbox.Receiver, reason string) error
}

// Plan decides what events change in the outbox. It gets each event once, in the order of the log.
// An error means that the events are tried again, with another Plan. A Plan MUST NOT fail for an
// event that no retry helps.
type Plan func(ctx context.Context, batch []eventstore.Recorded) (outbox.Changes, error)
