package clockcheck

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestClocks lets the clock of the database differ, fail and agree again.
func TestClocks(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 14, 12, 0, 0, 0, time.UTC)
	var other time.Time
	var failure error
	c := New(
		slog.New(slog.DiscardHandler), func() time.Time { return now },
		Clock{"the event store", func(context.Context) (time.Time, error) { return time.Time{}, nil }}, // not told
		Clock{"the database", func(context.Context) (time.Time, error) { return other, failure }},
	)
	for _, step := range []struct {
		name  string
		ahead time.Duration // of this machine
		err   error
		want  string
	}{
		{name: "a little ahead", ahead: 5 * time.Minute},
		{name: "a little behind", ahead: -5 * time.Minute},
		{name: "no answer", err: errors.New("outage")},
		{name: "ahead", ahead: 40 * 24 * time.Hour, want: "ahead of the clock of the database by 960h0m0s"},
		{name: "no answer from the clock that differs", err: errors.New("outage"), want: "ahead"},
		{name: "behind", ahead: -6 * time.Minute, want: "behind the clock of the database by 6m0s"},
		{name: "corrected"},
	} {
		other, failure = now.Add(-step.ahead), step.err
		c.Check(t.Context())
		err := c.Problem()
		if (err != nil) != (step.want != "") || err != nil && !strings.Contains(err.Error(), step.want) {
			t.Errorf("%s: %v", step.name, err)
		}
	}
}
