package urls

import (
	"context"
	"maps"
	"slices"

	"linkledger/commands"
	"linkledger/commands/domain"
	"linkledger/commands/hashes"
	"linkledger/commands/linkwrite"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/v3/payload"
	"linkledger/httpapi/v3/selection"
	"linkledger/httpapi/v3/write"
	"linkledger/tagexpr"
)

// EditOne edits the URL that the path names.
func (h *Handler) EditOne(c *request.Context) (any, error) {
	hash, err := selection.PathHash(c)
	if err != nil {
		return nil, err
	}
	payloads, err := h.Limits.URLs(c)
	if err != nil {
		return nil, err
	}
	if len(payloads) > 1 {
		return nil, apierror.WrongInput(
			"urls must have one item to edit the URL %s, not %d", hash, len(payloads),
		)
	}
	resp, outcome, err := h.editEach(c, sameEdit(payloads[0], hash))
	if err == nil && apierror.RefusedAs(outcome.Items[0].Err, domain.URLNotFound) {
		return nil, outcome.Items[0].Err
	}
	return resp, err
}

// Edit edits several URLs. Either one edit is for all URLs that the parameters select, or each item
// names its own URL.
func (h *Handler) Edit(c *request.Context) (any, error) {
	chosen, err := selection.ForChange(c, h.Limits.Items)
	if err != nil {
		return nil, err
	}
	payloads, err := h.Limits.URLs(c)
	if err != nil {
		return nil, err
	}
	if len(payloads) > 1 && (chosen.Hashes != nil || chosen.Tags != nil) {
		return nil, apierror.WrongInput(
			"urls must have one item, which is for all selected URLs, not %d", len(payloads),
		)
	}
	if chosen.Tags != nil {
		return h.editTagged(c, chosen.Tags, payloads[0])
	}
	if chosen.Hashes != nil {
		payloads = sameEdit(payloads[0], chosen.Hashes...)
	}
	resp, _, err := h.editEach(c, payloads)
	return resp, err
}

// editTagged edits all URLs that meet an expression. The response does not list them, because there
// may be any number.
func (h *Handler) editTagged(
	c *request.Context, expression *tagexpr.Expr, same payload.URL,
) (any, error) {
	if same.Hash != nil || same.CustomHash != nil || same.LongURL != nil || same.Tags != nil {
		return nil, apierror.WrongInput(
			"Of URLs that are selected by tags only note, expiration_date, max_clicks, " +
				"email_stats, ping, protected and archived can be edited",
		)
	}
	edit := same.Edit()
	if err := h.Commands.CheckEdit(domain.Request{}, edit); err != nil {
		return nil, err
	}
	err := h.Changes.Tagged(c, expression, func(
		ctx context.Context, r domain.Request, refs []linkwrite.Ref,
	) []linkwrite.Outcome {
		edits := make([]commands.EditURL, len(refs))
		for i, ref := range refs {
			edits[i] = edit
			edits[i].Ref = ref
		}
		return h.Commands.EditURLs(ctx, r, edits).Items
	})
	if err != nil {
		return nil, err
	}
	return urlsAnswer{Envelope: response.Succeeded(), URLs: []any{}}, nil
}

// sameEdit returns the same edit for each of the hashes.
func sameEdit(same payload.URL, hashes ...string) []payload.URL {
	edits := make([]payload.URL, len(hashes))
	for i, hash := range hashes {
		edits[i] = same
		edits[i].Hash = &hash
	}
	return edits
}

// editEach runs edits that name their URLs.
func (h *Handler) editEach(
	c *request.Context, payloads []payload.URL,
) (urlsAnswer, commands.URLsOutcome, error) {
	if !anyHash(payloads) {
		return urlsAnswer{}, commands.URLsOutcome{}, &apierror.Error{
			Code: apierror.CodeMissingInput,
			Details: "Say which URLs are meant: with the parameters hashes or tags, or with hash " +
				"in each item",
		}
	}
	hidden, err := h.hidden(c, payloads)
	if err != nil {
		return urlsAnswer{}, commands.URLsOutcome{}, err
	}
	r, err := h.Requests.Begin(c)
	if err != nil {
		return urlsAnswer{}, commands.URLsOutcome{}, err
	}
	edits := make([]commands.EditURL, len(payloads))
	for i, p := range payloads {
		edits[i] = p.Edit()
		if hidden[edits[i].Hash] {
			edits[i].Ref = linkwrite.Ref{}
		}
	}
	outcome := h.Commands.EditURLs(c.Context(), r, edits)
	for i, p := range payloads {
		if p.Hash == nil { // the command has refused the empty hash
			outcome.Items[i] = linkwrite.Outcome{
				Err: &apierror.Error{Code: apierror.CodeMissingInput, Details: "hash is missing"},
			}
		} else if hidden[*p.Hash] {
			outcome.Items[i] = linkwrite.Outcome{Err: domain.ErrNoURL(*p.Hash)}
		}
	}
	if err := write.Outage(outcome.Items); err != nil {
		return urlsAnswer{}, outcome, err
	}
	if err := h.awaitEffects(c, outcome, payloads, payload.URL.Edited); err != nil {
		return urlsAnswer{}, outcome, err
	}
	links := h.Records.WithClicks(c, outcome.Items)
	return h.writtenURLs(c, payloads, outcome.Items, links, payload.URL.Edited), outcome, nil
}

// hidden returns the hashes whose URLs the key of the call does not see.
func (h *Handler) hidden(c *request.Context, payloads []payload.URL) (map[string]bool, error) {
	if c.Bound == nil {
		return nil, nil //nolint:nilnil // nothing is hidden
	}
	hidden := make(map[string]bool)
	for _, p := range payloads {
		if p.Hash != nil && hashes.Valid(*p.Hash) {
			hidden[*p.Hash] = true
		}
	}
	visible, err := h.Bound.Visible(c, slices.Collect(maps.Keys(hidden)))
	for _, hash := range visible {
		delete(hidden, hash)
	}
	return hidden, err
}

func anyHash(payloads []payload.URL) bool {
	for _, p := range payloads {
		if p.Hash != nil {
			return true
		}
	}
	return false
}

// DeleteOne deletes the URL that the path names.
func (h *Handler) DeleteOne(c *request.Context) (any, error) {
	return h.Changes.One(c, h.Commands.DeleteURLs)
}

// Delete deletes the URLs that the parameters select. It skips protected and missing ones.
func (h *Handler) Delete(c *request.Context) (any, error) {
	return h.Changes.All(c, h.Commands.DeleteURLs)
}
