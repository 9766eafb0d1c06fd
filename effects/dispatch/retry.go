package dispatch

// This file decides when a message that was not delivered is tried again.

import (
	"math/rand/v2"
	"time"

	"linkledger/effects/outbox"
)

const (
	// patience is how long a message is retried, and how long a receiver may fail.
	patience = 72 * time.Hour
	// failuresOfReceiver is how many attempts in a row must fail, of any messages, before no
	// message of the receiver is tried for some time.
	failuresOfReceiver = 5
	// jitter is how much longer a delay is at most, as a part of it. So retries do not come
	// together.
	jitter = 0.1
)

// delays are the times between attempts. The last one repeats.
var delays = [...]time.Duration{
	10 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute, time.Hour,
}

// delayAfter returns the time until the next attempt after n attempts in a row have failed.
func delayAfter(n int) time.Duration {
	delay := delays[min(max(n, 1), len(delays))-1]
	return delay + time.Duration(rand.Float64()*jitter*float64(delay)) //nolint:gosec // no secret
}

// retryOf returns when a message is tried again after an attempt that has failed.
func retryOf(c outbox.Claim, m outbox.Message, now time.Time) outbox.Retry {
	retry := outbox.Retry{
		GiveUp: !m.FirstTry.IsZero() && now.Sub(m.FirstTry) >= patience,
		After:  delayAfter(c.Failures + 1),
	}
	if failed := c.Receiver.Failures + 1; failed >= failuresOfReceiver {
		retry.Receiver = delayAfter(failed - failuresOfReceiver + 1)
	}
	return retry
}

// endOf returns why a receiver is suspended after an attempt that has failed; empty: it is not.
func endOf(c outbox.Claim, got outbox.Outcome, now time.Time) string {
	switch {
	case got.End != "":
		return got.End
	case !c.Receiver.FailingSince.IsZero() && now.Sub(c.Receiver.FailingSince) >= patience:
		return "no delivery has succeeded for three days, the last answer was: " + got.Answer
	}
	return ""
}
