package engine

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"linkledger/events/eventstore"
)

// TestMisplacement checks when a generation is taken for misplaced, by what its subscription finds, however far apart
// its attempts are: after a long outage it waits up to 8 s between them.
func TestMisplacement(t *testing.T) {
	t.Parallel()
	lacking := fmt.Errorf("the checkpoint: %w", eventstore.ErrPositionInvalid)
	away := errors.New("connection refused")
	type step struct {
		after time.Duration // since the step before
		ended error         // of the subscription; nil: a batch was applied
		want  bool
	}
	for name, steps := range map[string][]step{
		"a moment after an election": {{0, lacking, false}, {time.Second, lacking, false}, {time.Second / 2, nil, false}},
		"attempts that follow closely": {
			{0, lacking, false}, {time.Second, lacking, false}, {time.Second, lacking, true},
		},
		"attempts after a long outage": {
			{0, away, false}, {8 * time.Second, lacking, false}, {8 * time.Second, lacking, true},
		},
		"attempts that take long": {{0, lacking, false}, {time.Minute, lacking, true}},
		"found in an outage": {
			{0, lacking, false},
			{time.Second, away, false},
			{200 * time.Second, lacking, false},
			{8 * time.Second, lacking, true},
		},
		"a log that has it again": {
			{0, lacking, false},
			{time.Second, nil, false},
			{time.Hour, lacking, false},
			{time.Second, lacking, false},
			{time.Second, lacking, true},
		},
		"a build that cannot begin": {
			{0, lacking, false}, {time.Minute, lacking, true}, {time.Minute, lacking, true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var m misplacement
			now := time.Now()
			for i, s := range steps {
				now = now.Add(s.after)
				if got := m.lasts(s.ended, now); got != s.want {
					t.Errorf("step %d: %v: got %t, want %t", i, s.ended, got, s.want)
				}
			}
		})
	}
}
