package webhooks

import (
	"slices"
	"time"

	"linkledger/events"
)

// Webhook is the state of one webhook.
type Webhook struct {
	ID      string
	Account string
	events.WebhookTerms
	Base      string // address of the short links in payloads
	Target    events.WebhookTarget
	Sealed    *events.Sealed // Target in the stored form
	CreatedAt time.Time
	ChangedAt time.Time
	// Suspended says why nothing is delivered, since SuspendedAt. Empty: the webhook works.
	Suspended   string
	SuspendedAt time.Time
}

// List is the webhooks of an account, in the order in which they were added.
type List []Webhook

// Fold returns the webhooks after the events of their stream. An event that cannot be decoded is
// nil, and changes nothing.
func Fold(history []events.Event) (all List) {
	for _, e := range history {
		all.Apply(e)
	}
	return all
}

// Find returns a webhook by its id, or nil.
func (l List) Find(id string) *Webhook {
	for i := range l {
		if l[i].ID == id {
			return &l[i]
		}
	}
	return nil
}

// Apply folds one more event, and returns the id of the webhook that it is about.
func (l *List) Apply(event events.Event) (id string) {
	switch e := event.(type) {
	case events.WebhookAdded:
		*l = append(*l, Webhook{
			ID: e.WebhookID, Account: e.Account, WebhookTerms: e.WebhookTerms, Base: e.Base,
			Target: e.Target, Sealed: e.Sealed, CreatedAt: e.At, ChangedAt: e.At,
		})
		return e.WebhookID
	case events.WebhookRemoved:
		*l = slices.DeleteFunc(*l, func(w Webhook) bool { return w.ID == e.WebhookID })
		return e.WebhookID
	case events.WebhookChanged:
		return l.change(e.WebhookID, e.At, func(w *Webhook) {
			w.WebhookTerms, w.Target, w.Sealed = e.WebhookTerms, e.Target, e.Sealed
		})
	case events.WebhookSecretRotated:
		return l.change(e.WebhookID, e.At, func(w *Webhook) {
			w.Target, w.Sealed = e.Target, e.Sealed
		})
	case events.WebhookSuspended:
		return l.change(e.WebhookID, e.At, func(w *Webhook) {
			w.Suspended, w.SuspendedAt = e.Reason, e.At
		})
	case events.WebhookResumed:
		return l.change(e.WebhookID, e.At, func(w *Webhook) {
			w.Suspended, w.SuspendedAt = "", time.Time{}
		})
	}
	return ""
}

func (l *List) change(id string, at time.Time, change func(*Webhook)) string {
	if w := l.Find(id); w != nil {
		change(w)
		w.ChangedAt = at
	}
	return id
}
