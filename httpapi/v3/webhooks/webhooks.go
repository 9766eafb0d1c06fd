// Package webhooks handles calls about the webhooks of an account and their deliveries.
package webhooks

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"linkledger/commands"
	"linkledger/commands/access"
	"linkledger/commands/domain"
	"linkledger/commands/webhooks"
	"linkledger/effects/outbox"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/shortlink"
	"linkledger/httpapi/v3/selection"
	"linkledger/httpapi/v3/write"
)

// Handler handles calls about webhooks.
type Handler struct {
	Commands *webhooks.Webhooks
	Outbox   *outbox.Outbox
	// Try makes a test delivery to a webhook.
	Try       func(context.Context, webhooks.Webhook) outbox.Outcome
	Links     *commands.Handler
	Requests  *write.Requests
	Base      shortlink.Base
	Pages     selection.PageSizes
	BodyLimit int64 // bytes
}

// List returns the webhooks of the account.
func (h *Handler) List(c *request.Context) (any, error) {
	all, err := h.Commands.All(c.Context(), c.Account.ID.String())
	if err != nil {
		return nil, err
	}
	return answer(all...), nil
}

// Read returns the webhook that the path names.
func (h *Handler) Read(c *request.Context) (any, error) {
	w, err := h.find(c)
	if err != nil {
		return nil, err
	}
	return answer(w), nil
}

func (h *Handler) find(c *request.Context) (webhooks.Webhook, error) {
	return h.Commands.Find(c.Context(), c.Account.ID.String(), c.Param("id"))
}

// Add adds a webhook, and returns it with its secret.
func (h *Handler) Add(c *request.Context) (any, error) {
	spec, r, err := h.begin(c)
	if err != nil {
		return nil, err
	}
	outcome, err := h.Commands.Add(c.Context(), r, spec, h.Base.Of(c.Request))
	if err != nil {
		return nil, err
	}
	return withSecret(outcome), nil
}

// Change changes the webhook that the path names.
func (h *Handler) Change(c *request.Context) (any, error) {
	spec, r, err := h.begin(c)
	if err != nil {
		return nil, err
	}
	outcome, err := h.Commands.Change(c.Context(), r, c.Param("id"), spec)
	if err != nil {
		return nil, err
	}
	return answer(outcome.Webhook), nil
}

// Rotate gives a webhook new secrets, and returns it with the new secret.
func (h *Handler) Rotate(c *request.Context) (any, error) {
	r, err := h.Requests.Begin(c)
	if err != nil {
		return nil, err
	}
	outcome, err := h.Commands.Rotate(c.Context(), r, c.Param("id"))
	if err != nil {
		return nil, err
	}
	return withSecret(outcome), nil
}

// Suspend ends the deliveries to a webhook.
func (h *Handler) Suspend(c *request.Context) (any, error) {
	return h.write(c, func(
		ctx context.Context, r domain.Request, id string,
	) (webhooks.Outcome, error) {
		return h.Commands.Suspend(ctx, r, id, "suspended by a call of the account")
	})
}

// Resume begins the deliveries to a suspended webhook again.
func (h *Handler) Resume(c *request.Context) (any, error) { return h.write(c, h.Commands.Resume) }

// Remove removes a webhook, and returns it as it was.
func (h *Handler) Remove(c *request.Context) (any, error) { return h.write(c, h.Commands.Remove) }

func (h *Handler) write(
	c *request.Context,
	command func(context.Context, domain.Request, string) (webhooks.Outcome, error),
) (any, error) {
	r, err := h.Requests.Begin(c)
	if err != nil {
		return nil, err
	}
	outcome, err := command(c.Context(), r, c.Param("id"))
	if err != nil {
		return nil, err
	}
	return answer(outcome.Webhook), nil
}

// mayGet checks that the caller may read what a webhook gets: a webhook MUST NOT give a caller more
// than the calls of the caller do. Payloads have what histories have.
func mayGet(c *request.Context, kinds []string) error {
	needed := access.LinksRead | access.HistoryRead
	if len(kinds) == 0 || slices.Contains(kinds, webhooks.Click) ||
		slices.Contains(kinds, webhooks.LimitReached) {
		needed |= access.StatsRead
	}
	return apierror.Need(c.Scopes(), needed)
}

func answer(all ...webhooks.Webhook) contract.WebhooksAnswer {
	resp := contract.WebhooksAnswer{
		Envelope: response.Succeeded(), Webhooks: make([]contract.Webhook, len(all)),
	}
	for i, w := range all {
		resp.Webhooks[i] = contract.Webhook{
			ID: w.ID, URL: w.Target.URL, Tags: response.TextOrNull(w.Tags), Format: w.Format,
			Suspended:   response.TextOrNull(w.Suspended),
			SuspendedAt: timeOrNull(w.SuspendedAt),
			CreatedAt:   response.Time(w.CreatedAt), ModifiedAt: response.Time(w.ChangedAt),
			PublicKey: webhooks.PublicKey(w.Target.Key),
		}
		if len(w.Kinds) > 0 {
			resp.Webhooks[i].Kinds = w.Kinds
		}
		for _, link := range w.Links {
			resp.Webhooks[i].URLs = append(resp.Webhooks[i].URLs, link.Hash)
		}
	}
	return resp
}

// withSecret returns a webhook with the secret that this call has made. A repeat of the call finds
// the webhook, but cannot show the secret again.
func withSecret(outcome webhooks.Outcome) contract.WebhooksAnswer {
	resp := answer(outcome.Webhook)
	if !outcome.Repeated {
		resp.Webhooks[0].Secret = outcome.Webhook.Target.Secret
	}
	return resp
}

// idOf returns the id of a webhook as the outbox has it.
func idOf(w webhooks.Webhook) uuid.UUID {
	id, _ := uuid.Parse(w.ID) // of a webhook that was found, so it is one
	return id
}

// timeOrNull returns nil for the zero time.
func timeOrNull(at time.Time) *contract.Timestamp {
	if at.IsZero() {
		return nil
	}
	return response.TimeOrNull(&at)
}
