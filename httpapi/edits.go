package httpapi

import (
	"context"

	"linkledger/commands"
	"linkledger/commands/domain"
	"linkledger/queries"
	"linkledger/queries/tagexpr"
)

// editURL edits the URL that the path names.
func (h *urlHandler) editURL(c *exchange) (any, error) {
	hash, err := pathHash(c)
	if err != nil {
		return nil, err
	}
	payloads, err := h.Limits.edit(c)
	if err != nil {
		return nil, err
	}
	if len(payloads) > 1 {
		return nil, wrongInput("urls must have one item to edit the URL %s, not %d", hash, len(payloads))
	}
	answer, outcome, err := h.editEach(c, sameEdit(payloads[0], hash))
	if err == nil && refusedAs(outcome.Items[0].Err, domain.URLNotFound) {
		return nil, outcome.Items[0].Err
	}
	return answer, err
}

// editURLs edits several URLs: all that the parameters select in the same way, or each item the one that it names.
func (h *urlHandler) editURLs(c *exchange) (any, error) {
	chosen, err := chosenURLs(c, h.Limits.Items)
	if err != nil {
		return nil, err
	}
	payloads, err := h.Limits.edit(c)
	if err != nil {
		return nil, err
	}
	if len(payloads) > 1 && (chosen.hashes != nil || chosen.tags != nil) {
		return nil, wrongInput("urls must have one item, which is for all selected URLs, not %d", len(payloads))
	}
	if chosen.tags != nil {
		return h.editTagged(c, chosen.tags, payloads[0])
	}
	if chosen.hashes != nil {
		payloads = sameEdit(payloads[0], chosen.hashes...)
	}
	answer, _, err := h.editEach(c, payloads)
	return answer, err
}

// editTagged edits the URLs that meet an expression, and answers without them.
func (h *urlHandler) editTagged(c *exchange, expression *tagexpr.Expr, payload urlPayload) (any, error) {
	if payload.Hash != nil || payload.CustomHash != nil || payload.LongURL != nil || payload.Tags != nil {
		return nil, wrongInput("Of URLs that are selected by tags only note, expiration_date, max_clicks, email_stats, ping, protected and archived can be edited")
	}
	edit := payload.edit()
	if err := h.Commands.CheckEdit(domain.Request{}, edit); err != nil {
		return nil, err
	}
	err := h.Changes.changeTagged(c, expression, func(ctx context.Context, r domain.Request, refs []commands.Ref) []commands.URLOutcome {
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
	return urlsAnswer{envelope: succeeded(), URLs: []any{}}, nil
}

// sameEdit returns one edit for several URLs.
func sameEdit(payload urlPayload, hashes ...string) []urlPayload {
	edits := make([]urlPayload, len(hashes))
	for i, hash := range hashes {
		edits[i] = payload
		edits[i].Hash = &hash
	}
	return edits
}

// editEach carries out edits that name their URLs.
func (h *urlHandler) editEach(c *exchange, payloads []urlPayload) (urlsAnswer, commands.URLsOutcome, error) {
	if !anyHash(payloads) {
		return urlsAnswer{}, commands.URLsOutcome{}, &apiError{
			code: codeMissingInput, details: "Say which URLs are meant: with the parameters hashes or tags, or with hash in each item",
		}
	}
	r, err := h.Requests.begin(c)
	if err != nil {
		return urlsAnswer{}, commands.URLsOutcome{}, err
	}
	edits := make([]commands.EditURL, len(payloads))
	for i, p := range payloads {
		edits[i] = p.edit()
	}
	outcome := h.Commands.EditURLs(c.context(), r, edits)
	for i, p := range payloads {
		if p.Hash == nil { // refused by the command as no hash
			outcome.Items[i] = commands.URLOutcome{Err: &apiError{code: codeMissingInput, details: "hash is missing"}}
		}
	}
	if err := outage(outcome.Items); err != nil {
		return urlsAnswer{}, outcome, err
	}
	h.Waiter.settle(c, positions(outcome))
	return h.writtenURLs(c, payloads, outcome.Items, h.Records.counted(c, outcome.Items)), outcome, nil
}

// writtenURLs answers a call that wrote URLs, each item with its record or its error.
func (h *urlHandler) writtenURLs(c *exchange, payloads []urlPayload, items []commands.URLOutcome, links []queries.Link) urlsAnswer {
	answer := urlsAnswer{envelope: succeeded(), URLs: make([]any, len(items))}
	for i, item := range items {
		if item.Err != nil {
			answer.URLs[i] = payloads[i].failed(itemOf(failureOf(c, h.Logger, item.Err)))
			continue
		}
		answer.URLs[i] = h.Records.written(c, links[i])
	}
	return answer
}

func anyHash(payloads []urlPayload) bool {
	for _, p := range payloads {
		if p.Hash != nil {
			return true
		}
	}
	return false
}

// deleteURL deletes the URL that the path names.
func (h *urlHandler) deleteURL(c *exchange) (any, error) {
	return h.Changes.changeOne(c, h.Commands.DeleteURLs)
}

// deleteURLs deletes the URLs that the parameters select. Protected ones stay, and missing ones are gone already.
func (h *urlHandler) deleteURLs(c *exchange) (any, error) {
	return h.Changes.changeAll(c, h.Commands.DeleteURLs)
}
