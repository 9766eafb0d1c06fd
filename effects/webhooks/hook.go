package webhooks

// This file has what the effect knows of a webhook, and how it is stored.

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"linkledger/commands/webhooks"
	"linkledger/effects/outbox"
	"linkledger/effects/webhooks/linkstate"
	"linkledger/events"
	"linkledger/tagexpr"
)

// config is the Config of a receiver. Target stays sealed.
type config struct {
	events.WebhookTerms
	Base   string         `json:"base"`
	Sealed *events.Sealed `json:"sealed"`
}

// hook is a webhook of a plan.
type hook struct {
	webhooks.Webhook
	expr *tagexpr.Expr // nil: of all links
	mute bool          // this version cannot read the expression
}

// newHook returns the hook of a webhook. An expression that this version cannot read matches no
// link, because a webhook MUST NOT get more than it was allowed.
func newHook(w webhooks.Webhook) *hook {
	h := &hook{Webhook: w}
	if w.Tags != "" {
		expr, err := tagexpr.Parse(w.Tags)
		h.expr, h.mute = expr, err != nil
	}
	return h
}

// receiver returns the form in which the outbox keeps a webhook.
func (h *hook) receiver() (outbox.Receiver, error) {
	id, err := uuid.Parse(h.ID)
	if err != nil {
		return outbox.Receiver{}, fmt.Errorf("id of a webhook: %w", err)
	}
	account, err := uuid.Parse(h.Account)
	if err != nil {
		return outbox.Receiver{}, fmt.Errorf("account of a webhook: %w", err)
	}
	stored, err := json.Marshal(config{
		WebhookTerms: h.WebhookTerms, Base: h.Base, Sealed: h.Sealed,
	})
	return outbox.Receiver{
		ID: id, Account: account, Config: stored, Open: h.Suspended == "",
	}, err
}

// webhookOf returns the webhook of a receiver.
func webhookOf(r outbox.Receiver) (webhooks.Webhook, error) {
	var stored config
	if err := json.Unmarshal(r.Config, &stored); err != nil {
		return webhooks.Webhook{}, fmt.Errorf("webhook %s: %w", r.ID, err)
	}
	w := webhooks.Webhook{
		ID: r.ID.String(), Account: r.Account.String(), WebhookTerms: stored.WebhookTerms,
		Base: stored.Base, Sealed: stored.Sealed,
	}
	if !r.Open {
		w.Suspended = "suspended"
	}
	return w, nil
}

// wants reports whether a webhook gets an event of a kind about a link, as the link was before or
// is after the event. So a webhook learns that a link leaves its tags.
func (h *hook) wants(kind string, before, after linkstate.State) bool {
	if h.mute || h.Suspended != "" || !h.Gets(kind) {
		return false
	}
	if len(h.Links) > 0 && !slices.ContainsFunc(h.Links, func(l events.WebhookLink) bool {
		return l.ID == after.Link.ID
	}) {
		return false
	}
	return h.expr == nil || before.Matches(h.expr) || after.Matches(h.expr)
}

// wantsTags reports whether a webhook gets an event of a kind about a tag. A webhook that is about
// some links gets none.
func (h *hook) wantsTags(kind string) bool {
	return !h.mute && h.Suspended == "" && h.Gets(kind) && len(h.Links) == 0 && h.expr == nil
}
