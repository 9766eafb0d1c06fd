package events

import (
	"testing"
	"time"
)

func TestOver(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 14, 12, 0, 0, 0, time.UTC)
	for ago, want := range map[time.Duration]bool{
		0: false, 59 * time.Second: false, time.Minute: true, time.Hour: true,
		-time.Second: false, -MaxLead: false, -MaxLead - time.Nanosecond: true, -40 * 24 * time.Hour: true,
	} {
		if got := IsOver(now.Add(-ago), now, time.Minute); got != want {
			t.Errorf("begun %s ago: %v", ago, got)
		}
	}
}
