package webhooks

// This file makes test deliveries.

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/webhooks"
	"linkledger/effects/dispatch"
	"linkledger/effects/outbox"
	"linkledger/httpapi/contract"
)

// testKind is the type of the payload of a test delivery.
const testKind = "test"

// Try makes one attempt to deliver a payload of the type test to a webhook, and returns what came
// of it. Nothing of it is stored.
func Try(cfg Config) func(context.Context, webhooks.Webhook) outbox.Outcome {
	d := deliverer{cfg}
	return func(ctx context.Context, w webhooks.Webhook) outbox.Outcome {
		ctx, cancel := context.WithTimeout(ctx, dispatch.AttemptTimeout)
		defer cancel()
		receiver, err := newHook(w).receiver()
		if err != nil {
			return outbox.Outcome{Answer: "the webhook cannot be read"}
		}
		body, err := json.Marshal(contract.Event{
			Type: testKind, Timestamp: time.Now().UTC(),
			Data: contract.EventData{Account: w.Account},
		})
		if err != nil {
			return outbox.Outcome{Answer: "the payload cannot be made"}
		}
		return d.deliver(ctx, receiver, outbox.Message{ID: uuid.New(), Body: body})
	}
}
