package webhooks

import (
	"context"
	"reflect"
	"slices"

	"linkledger/commands/domain"
	"linkledger/commands/streams"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventlog"
)

// Webhooks runs the commands. It is safe for concurrent use.
type Webhooks struct{ streams *streams.Streams }

// New returns Webhooks.
func New(streams *streams.Streams) *Webhooks { return &Webhooks{streams} }

// Outcome is a webhook after a command.
type Outcome struct {
	Webhook  Webhook
	Position eventstore.Position
	Repeated bool // an earlier call of the same command has done it
}

// Spec is what a caller says about a webhook. A nil field stays as it is.
type Spec struct {
	URL    *string
	Kinds  []string
	Tags   *string
	Links  []events.WebhookLink
	Format *string
}

// merge returns terms and a target with the fields of the spec. It refuses with InvalidWebhook.
func (s Spec) merge(
	terms events.WebhookTerms, target events.WebhookTarget,
) (events.WebhookTerms, events.WebhookTarget, error) {
	if s.URL != nil {
		target.URL = *s.URL
	}
	if err := checkURL(target.URL); err != nil {
		return terms, target, err
	}
	if s.Kinds != nil {
		terms.Kinds = s.Kinds
	}
	if s.Tags != nil {
		terms.Tags = *s.Tags
	}
	if s.Links != nil {
		terms.Links = s.Links
	}
	if s.Format != nil {
		terms.Format = *s.Format
	}
	terms, err := checked(terms)
	return terms, target, err
}

// All returns the webhooks of an account.
func (h *Webhooks) All(ctx context.Context, account string) (List, error) {
	loaded, err := h.streams.Load(ctx, events.StreamWebhooks+account)
	if err != nil {
		return nil, err
	}
	return Fold(loaded.Events), nil
}

// Find returns a webhook of an account. It refuses with WebhookNotFound.
func (h *Webhooks) Find(ctx context.Context, account, id string) (Webhook, error) {
	all, err := h.All(ctx, account)
	if err != nil {
		return Webhook{}, err
	}
	if w := all.Find(id); w != nil {
		return *w, nil
	}
	return Webhook{}, notFound(id)
}

func notFound(id string) error {
	return domain.Refuse(domain.WebhookNotFound, "There is no webhook %q", id)
}

// Add adds a webhook to the account of the request. base is the address of the short links in its
// payloads. Add refuses with InvalidWebhook, also if there is no master key to seal the secrets.
func (h *Webhooks) Add(
	ctx context.Context, r domain.Request, spec Spec, base string,
) (Outcome, error) {
	if !h.streams.Seals() {
		return Outcome{}, refuse("The service needs a master key to keep the secrets of webhooks")
	}
	terms, target, err := spec.merge(events.WebhookTerms{}, events.WebhookTarget{})
	if err != nil {
		return Outcome{}, err
	}
	target, id := withSecrets(target), r.Command.String()
	return h.change(ctx, r, whole, id, func(all List) (events.Event, error) {
		if len(all) >= MaxWebhooks {
			return nil, refuse("An account has at most %d webhooks: remove one", MaxWebhooks)
		}
		return events.WebhookAdded{
			WebhookID: id, Account: r.Account, WebhookTerms: terms, Base: base, Target: target,
			At: h.streams.Now(),
		}, nil
	})
}

// Change changes what a webhook gets, and where it sends to. It refuses with InvalidWebhook and
// WebhookNotFound.
func (h *Webhooks) Change(
	ctx context.Context, r domain.Request, id string, spec Spec,
) (Outcome, error) {
	return h.changeOne(ctx, r, whole, id, func(w *Webhook) (events.Event, error) {
		terms, target, err := spec.merge(w.WebhookTerms, w.Target)
		if err != nil || target == w.Target && reflect.DeepEqual(terms, w.WebhookTerms) {
			return nil, err
		}
		return events.WebhookChanged{
			WebhookID: id, WebhookTerms: terms, Target: target, At: h.streams.Now(),
		}, nil
	})
}

// Rotate gives a webhook new secrets. The present ones also sign for the time of Overlap. It
// refuses with WebhookNotFound.
func (h *Webhooks) Rotate(ctx context.Context, r domain.Request, id string) (Outcome, error) {
	return h.changeOne(ctx, r, whole, id, func(w *Webhook) (events.Event, error) {
		now := h.streams.Now()
		return events.WebhookSecretRotated{
			WebhookID: id, Target: rotated(w.Target, now.Add(Overlap)), At: now,
		}, nil
	})
}

// Suspend ends the deliveries to a webhook, for a reason that people read. It refuses with
// WebhookNotFound.
func (h *Webhooks) Suspend(
	ctx context.Context, r domain.Request, id, reason string,
) (Outcome, error) {
	return h.changeOne(ctx, r, ending, id, func(w *Webhook) (events.Event, error) {
		if w.Suspended != "" {
			return nil, nil
		}
		return events.WebhookSuspended{WebhookID: id, Reason: reason, At: h.streams.Now()}, nil
	})
}

// Resume begins the deliveries to a suspended webhook again. It refuses with WebhookNotFound.
func (h *Webhooks) Resume(ctx context.Context, r domain.Request, id string) (Outcome, error) {
	return h.changeOne(ctx, r, whole, id, func(w *Webhook) (events.Event, error) {
		if w.Suspended == "" {
			return nil, nil
		}
		return events.WebhookResumed{WebhookID: id, At: h.streams.Now()}, nil
	})
}

// Remove removes a webhook for ever, with its deliveries. It refuses with WebhookNotFound.
func (h *Webhooks) Remove(ctx context.Context, r domain.Request, id string) (Outcome, error) {
	return h.changeOne(ctx, r, ending, id, func(*Webhook) (events.Event, error) {
		return events.WebhookRemoved{WebhookID: id, At: h.streams.Now()}, nil
	})
}

// need is what a command needs to know of the stream.
type need bool

const (
	whole need = true
	// ending commands work although events cannot be decoded: a webhook MUST NOT outlive its end.
	ending need = false
)

func (h *Webhooks) changeOne(
	ctx context.Context, r domain.Request, needs need, id string,
	decide func(*Webhook) (events.Event, error),
) (Outcome, error) {
	return h.change(ctx, r, needs, id, func(all List) (events.Event, error) {
		w := all.Find(id)
		if w == nil {
			return nil, notFound(id)
		}
		return decide(w)
	})
}

// change appends the event that decide returns, if any. The outcome has the webhook after it, or,
// if it was removed, before it. A command that has run before appends nothing.
func (h *Webhooks) change(
	ctx context.Context, r domain.Request, needs need, id string,
	decide func(List) (events.Event, error),
) (Outcome, error) {
	stream := events.StreamWebhooks + r.Account
	return eventstore.Retry(func() (Outcome, error) {
		loaded, err := h.streams.Load(ctx, stream)
		if err != nil && (needs == whole || !eventlog.IsUndecoded(err)) {
			return Outcome{}, err
		}
		all, outcome := Fold(loaded.Events), Outcome{Position: loaded.Position()}
		if loaded.Has(r.Command, stream) {
			outcome.Webhook, outcome.Repeated = last(loaded.Events, id), true
			return outcome, nil
		}
		event, err := decide(slices.Clone(all))
		if err != nil {
			return Outcome{}, err
		}
		if event != nil {
			appended, err := h.streams.Append(ctx, r, stream, loaded.Revision(), event)
			if err != nil {
				return Outcome{}, err
			}
			outcome.Position = appended.Position
		}
		if w := all.Find(id); w != nil {
			outcome.Webhook = *w
		}
		all.Apply(event)
		if w := all.Find(id); w != nil {
			outcome.Webhook = *w
		}
		return outcome, nil
	})
}

// last returns the last state of a webhook, which may be removed since.
func last(history []events.Event, id string) (w Webhook) {
	var all List
	for _, e := range history {
		all.Apply(e)
		if found := all.Find(id); found != nil {
			w = *found
		}
	}
	return w
}
