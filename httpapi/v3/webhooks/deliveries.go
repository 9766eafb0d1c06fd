package webhooks

// This file handles calls about the deliveries of a webhook.

import (
	"time"

	"github.com/google/uuid"

	"linkledger/effects/outbox"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/decode"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
)

// Test sends one payload of the type test to a webhook, and returns what came of it. It is not
// tried again.
func (h *Handler) Test(c *request.Context) (any, error) {
	w, err := h.find(c)
	if err != nil {
		return nil, err
	}
	outcome := h.Try(c.Context(), w)
	return contract.TestDeliveryAnswer{
		Envelope: response.Succeeded(), Delivery: contract.TestDelivery{
			Delivered: outcome.Delivered, Status: outcome.Status, Answer: outcome.Answer,
		},
	}, nil
}

// Deliveries returns the deliveries of a webhook, newest first.
func (h *Handler) Deliveries(c *request.Context) (any, error) {
	query, err := decode.Query(c)
	if err != nil {
		return nil, err
	}
	state := query.Get("state")
	switch state {
	case "", outbox.Waiting, outbox.Done, outbox.Failed:
	default:
		return nil, apierror.WrongInput("state must be waiting, delivered or failed")
	}
	page, err := h.Pages.Read(query)
	if err != nil {
		return nil, err
	}
	w, err := h.find(c)
	if err != nil {
		return nil, err
	}
	found, total, err := h.Outbox.List(c.Context(), idOf(w), state, page.Offset, page.Limit)
	if err != nil {
		return nil, apierror.Unavailable(err)
	}
	resp := contract.DeliveriesAnswer{
		Envelope: response.Succeeded(), Deliveries: make([]contract.Delivery, len(found)),
		Page: contract.Page{ResultsCount: len(found), TotalCount: total, Offset: page.Offset},
	}
	for i, d := range found {
		resp.Deliveries[i] = contract.Delivery{
			ID: d.ID.String(), Type: d.Kind, Time: d.At.UTC(), State: d.State,
			Attempts: d.Attempts, LastTry: timeOrNull(d.LastTry), Status: d.Status,
			Answer: d.Answer,
		}
	}
	return resp, nil
}

// Redeliver makes deliveries of a webhook again: one, all that have failed, or all since a time.
func (h *Handler) Redeliver(c *request.Context) (any, error) {
	body, err := decode.Body(c, h.BodyLimit)
	if err != nil {
		return nil, err
	}
	id, failed, since := body.Text("id"), body.Boolean("failed"), body.Text("since")
	if body.Err != nil {
		return nil, body.Err
	}
	var of outbox.Selection
	switch {
	case id != nil && failed == nil && since == nil:
		if of.ID, err = uuid.Parse(*id); err != nil {
			return nil, apierror.WrongInput("id must be the id of a delivery")
		}
	case id == nil && failed != nil && *failed && since == nil:
		of.Failed = true
	case id == nil && failed == nil && since != nil:
		if of.Since, err = time.Parse(time.RFC3339, *since); err != nil || of.Since.IsZero() {
			return nil, apierror.WrongInput("since must be a time such as 2026-05-14T12:00:00Z")
		}
	default:
		return nil, apierror.WrongInput("name one of id, failed (true) and since")
	}
	w, err := h.find(c)
	if err != nil {
		return nil, err
	}
	if err := mayGet(c, nil); err != nil { // the deliveries may be of any kind that it once got
		return nil, err
	}
	n, err := h.Outbox.Redeliver(c.Context(), idOf(w), of)
	if err != nil {
		return nil, apierror.Unavailable(err)
	}
	return contract.RedeliveryAnswer{Envelope: response.Succeeded(), Redelivered: n}, nil
}
