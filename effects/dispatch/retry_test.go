package dispatch

import (
	"testing"
	"time"

	"linkledger/effects/outbox"
)

func TestRetries(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, c := range map[string]struct {
		ofMessage, ofReceiver int
		first                 time.Time
		after, receiver       time.Duration // without jitter
		giveUp                bool
	}{
		"first failure":         {0, 0, time.Time{}, 10 * time.Second, 0, false},
		"second failure":        {1, 1, now, time.Minute, 0, false},
		"fifth in a row":        {0, 4, now, 10 * time.Second, 10 * time.Second, false},
		"sixth in a row":        {1, 5, now, time.Minute, time.Minute, false},
		"many":                  {40, 40, now.Add(-40 * time.Hour), time.Hour, time.Hour, false},
		"after three days":      {90, 0, now.Add(-72 * time.Hour), time.Hour, 0, true},
		"just under three days": {90, 0, now.Add(-71 * time.Hour), time.Hour, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := retryOf(outbox.Claim{
				Failures: c.ofMessage, Receiver: outbox.Receiver{Failures: c.ofReceiver},
			}, outbox.Message{FirstTry: c.first}, now)
			if got.GiveUp != c.giveUp {
				t.Errorf("given up: %t", got.GiveUp)
			}
			within(t, "the queue", got.After, c.after)
			within(t, "the receiver", got.Receiver, c.receiver)
		})
	}
}

// within checks that a delay is the wanted one, or longer by at most a tenth.
func within(t *testing.T, what string, got, want time.Duration) {
	t.Helper()
	if got < want || got > want+want/10 {
		t.Errorf("%s waits %s, want %s", what, got, want)
	}
}

func TestEnds(t *testing.T) {
	t.Parallel()
	now := time.Now()
	failingFor := func(d time.Duration) outbox.Claim {
		return outbox.Claim{Receiver: outbox.Receiver{Failures: 1, FailingSince: now.Add(-d)}}
	}
	for name, c := range map[string]struct {
		claim outbox.Claim
		got   outbox.Outcome
		want  string
	}{
		"never failed":   {outbox.Claim{}, outbox.Outcome{Answer: "x"}, ""},
		"wants no more":  {outbox.Claim{}, outbox.Outcome{End: "gone"}, "gone"},
		"three days":     {failingFor(72 * time.Hour), outbox.Outcome{Answer: "x"}, "no delivery has succeeded for three days, the last answer was: x"},
		"nearly as long": {failingFor(71 * time.Hour), outbox.Outcome{Answer: "x"}, ""},
	} {
		if got := endOf(c.claim, c.got, now); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
