package webhooks

// This file reads what a call says about a webhook.

import (
	"linkledger/commands/domain"
	"linkledger/commands/webhooks"
	"linkledger/events"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/decode"
	"linkledger/httpapi/request"
)

// begin reads the body of a call, and begins its command.
func (h *Handler) begin(c *request.Context) (webhooks.Spec, domain.Request, error) {
	body, err := decode.Body(c, h.BodyLimit)
	if err != nil {
		return webhooks.Spec{}, domain.Request{}, err
	}
	spec := webhooks.Spec{
		URL: body.Text("url"), Kinds: body.List("kinds"), Tags: body.Text("tags"),
		Format: body.Text("format"),
	}
	hashes := body.List("urls")
	if body.Err != nil {
		return spec, domain.Request{}, body.Err
	}
	if err := h.checkGets(c, spec); err != nil {
		return spec, domain.Request{}, err
	}
	if spec.Links, err = h.links(c, hashes); err != nil {
		return spec, domain.Request{}, err
	}
	r, err := h.Requests.Begin(c)
	return spec, r, err
}

// checkGets checks that the caller may read what the webhook gets after the call.
func (h *Handler) checkGets(c *request.Context, spec webhooks.Spec) error {
	kinds := spec.Kinds
	if kinds == nil && c.Param("id") != "" {
		w, err := h.find(c)
		if err != nil {
			return err
		}
		kinds = w.Kinds
	}
	return mayGet(c, kinds)
}

// links returns the links with hashes of the account. nil stays nil.
func (h *Handler) links(c *request.Context, hashes []string) ([]events.WebhookLink, error) {
	if hashes == nil {
		return nil, nil
	}
	if len(hashes) > webhooks.MaxLinks {
		return nil, &apierror.Error{
			Code:    apierror.CodeInvalidWebhook,
			Details: "urls: a webhook is about at most 100 URLs",
		}
	}
	links := make([]events.WebhookLink, 0, len(hashes))
	for _, hash := range hashes {
		found, err := h.Links.FindURL(
			c.Context(), domain.Request{Account: c.Account.ID.String()}, hash,
		)
		if err != nil {
			return nil, err
		}
		links = append(links, events.WebhookLink{ID: found.URL.ID, Hash: found.URL.Hash})
	}
	return links, nil
}
