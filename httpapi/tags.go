package httpapi

import (
	"linkledger/commands"
	"linkledger/commands/domain"
	"linkledger/queries"
)

// tagHandler answers calls about tags.
type tagHandler struct {
	Commands  *commands.Handler
	Queries   *queries.DB
	Requests  *writeRequests
	Waiter    *waiter
	BodyLimit int64 // bytes
}

// tagsAnswer answers calls about tags.
type tagsAnswer struct {
	envelope
	Tags []tagRecord `json:"tags"`
}

type tagRecord struct {
	Label string `json:"label"`
}

// tagPayload is the body of calls that write a tag.
type tagPayload struct {
	Label *string `name:"label" validate:"required"`
}

func (h *tagHandler) listTags(c *exchange) (any, error) {
	tags, err := h.Queries.Tags(c.context(), c.account.ID)
	if err != nil {
		return nil, answered(err)
	}
	answer := tagsAnswer{envelope: succeeded(), Tags: make([]tagRecord, len(tags))}
	for i, tag := range tags {
		answer.Tags[i] = tagRecord{Label: tag.Label}
	}
	return answer, nil
}

func (h *tagHandler) createTag(c *exchange) (any, error) {
	label, r, err := h.readTag(c)
	if err != nil {
		return nil, err
	}
	outcome, err := h.Commands.CreateTag(c.context(), r, label)
	if err != nil {
		return nil, err
	}
	return h.writtenTag(c, outcome), nil
}

func (h *tagHandler) renameTag(c *exchange) (any, error) {
	label, r, err := h.readTag(c)
	if err != nil {
		return nil, err
	}
	outcome, err := h.Commands.RenameTag(c.context(), r, c.param("label"), label)
	if err != nil {
		return nil, err
	}
	return h.writtenTag(c, outcome), nil
}

func (h *tagHandler) deleteTag(c *exchange) (any, error) {
	r, err := h.Requests.begin(c)
	if err != nil {
		return nil, err
	}
	position, err := h.Commands.DeleteTag(c.context(), r, c.param("label"))
	if err != nil {
		return nil, err
	}
	h.Waiter.settle(c, written{tags: position.Commit})
	return succeeded(), nil
}

func (h *tagHandler) readTag(c *exchange) (string, domain.Request, error) {
	body, err := readBody(c, h.BodyLimit)
	if err != nil {
		return "", domain.Request{}, err
	}
	payload := tagPayload{Label: body.text("label")}
	if body.err != nil {
		return "", domain.Request{}, body.err
	}
	if err := check(payload, body.path); err != nil {
		return "", domain.Request{}, err
	}
	r, err := h.Requests.begin(c)
	return *payload.Label, r, err
}

func (h *tagHandler) writtenTag(c *exchange, outcome commands.TagOutcome) tagsAnswer {
	h.Waiter.settle(c, written{tags: outcome.Position.Commit})
	return tagsAnswer{envelope: succeeded(), Tags: []tagRecord{{Label: outcome.Tag.Label}}}
}
