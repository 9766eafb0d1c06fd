package webhooks

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/domain"
	"linkledger/commands/streams"
	"linkledger/commands/webhooks"
	"linkledger/effects"
	"linkledger/effects/outbound"
	"linkledger/effects/outbox"
	"linkledger/effects/webhooks/linkstate"
	"linkledger/events"
	"linkledger/events/eventstore"
)

// Name is the name of the effect.
const Name = "webhooks"

// gatherTime is how long clicks wait for others before they are sent together.
const gatherTime = time.Second

// Config configures the effect.
type Config struct {
	Streams  *streams.Streams
	Commands *webhooks.Webhooks
	Client   *outbound.Client
	Logger   *slog.Logger
}

// New returns the effect.
func New(cfg Config) effects.Effect {
	d, failing := deliverer{cfg}, new(linkstate.Failing)
	return effects.Effect{
		Name: Name,
		Filter: eventstore.Filter{Streams: []string{
			events.StreamURL, events.StreamHash, events.StreamTags, events.StreamClicks,
			events.StreamAllowance, events.StreamAccount, events.StreamWebhooks,
		}},
		Registers: eventstore.Filter{Streams: []string{
			events.StreamAccount, events.StreamWebhooks,
		}},
		Delayable: func(r eventstore.Recorded) bool {
			return strings.HasPrefix(r.Stream, events.StreamClicks)
		},
		MaxDelay: gatherTime,
		Begin: func(_ context.Context, known []outbox.Receiver) (effects.Plan, error) {
			p, err := newPlanner(cfg, known, failing)
			if err != nil {
				return nil, err
			}
			return p.plan, nil
		},
		Do: d.deliver, Suspend: d.suspend,
	}
}

// suspend stores in the log that nothing is delivered to a webhook any more. A webhook that is gone
// needs no suspension.
func (d deliverer) suspend(ctx context.Context, of outbox.Receiver, reason string) error {
	account := of.Account.String()
	_, err := d.cfg.Commands.Suspend(ctx, domain.Request{
		Account: account, Operator: true, Via: events.ViaWebhook, Command: uuid.New(),
	}, of.ID.String(), reason)
	if domain.KindOf(err) == domain.WebhookNotFound {
		return nil
	}
	return err
}
