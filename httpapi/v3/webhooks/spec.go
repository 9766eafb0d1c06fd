package webhooks

// This file reads what a call says about a webhook.

import (
	"slices"

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
	for name := range body.Values { // a filter with a misspelled name would filter nothing
		if !slices.Contains(fields, name) {
			return webhooks.Spec{}, domain.Request{}, apierror.WrongInput(
				"A webhook has no field %q", name,
			)
		}
	}
	spec := webhooks.Spec{
		URL: body.Text("url"), Kinds: list(&body, "kinds"), Tags: textOrNone(&body, "tags"),
		Format: textOrNone(&body, "format"),
	}
	hashes := list(&body, "urls")
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

// fields are the fields of a body that writes a webhook.
var fields = []string{"url", "kinds", "tags", "urls", "format"}

// list returns the list in a field. It is empty if the field is null, and nil if it is absent.
func list(body *decode.Object, name string) []string {
	if _, given := body.Values[name]; !given {
		return nil
	}
	values := body.List(name)
	if values == nil {
		values = []string{}
	}
	return values
}

// textOrNone returns the text in a field. It is empty if the field is null, and nil if it is
// absent.
func textOrNone(body *decode.Object, name string) *string {
	if body.IsNull(name) {
		return new("")
	}
	return body.Text(name)
}

// checkGets checks that the caller may read what the webhook gets before and after the call: with
// another address, the payloads that wait go there too.
func (h *Handler) checkGets(c *request.Context, spec webhooks.Spec) error {
	if c.Param("id") != "" {
		w, err := h.find(c)
		if err != nil {
			return err
		}
		if err := mayGet(c, w.Kinds); err != nil || spec.Kinds == nil {
			return err
		}
	}
	return mayGet(c, spec.Kinds)
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
