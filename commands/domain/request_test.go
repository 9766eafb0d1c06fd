package domain_test

import (
	"testing"
	"time"

	"linkledger/commands/commandstest"
	"linkledger/commands/domain"
	"linkledger/events"
)

// TestUndoneIncludes chooses events by their call, and by key and time.
func TestUndoneIncludes(t *testing.T) {
	t.Parallel()
	batch, key := domain.Undone{Batch: "b"}, domain.Undone{Key: "k", Since: commandstest.At}
	for name, test := range map[string]struct {
		undone domain.Undone
		m      events.Metadata
		at     time.Time
		want   bool
	}{
		"the call":             {batch, events.Metadata{BatchID: "b"}, commandstest.At, true},
		"another call":         {batch, events.Metadata{BatchID: "c"}, commandstest.At, false},
		"no call":              {domain.Undone{}, events.Metadata{}, commandstest.At, false},
		"the key at the time":  {key, events.Metadata{Key: "k"}, commandstest.At, true},
		"the key before":       {key, events.Metadata{Key: "k"}, commandstest.At.Add(-time.Second), false},
		"another key":          {key, events.Metadata{Key: "l"}, commandstest.At, false},
		"the key, not a batch": {key, events.Metadata{BatchID: "b"}, commandstest.At, false},
	} {
		if got := test.undone.Includes(test.m, test.at); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}
