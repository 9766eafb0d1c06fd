// Package tags handles calls about the tags of an account.
package tags

import (
	"cmp"
	"slices"
	"strings"

	"linkledger/commands"
	"linkledger/commands/access"
	"linkledger/commands/domain"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/decode"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/v3/catchup"
	"linkledger/httpapi/v3/record"
	"linkledger/httpapi/v3/write"
	"linkledger/queries/linklist"
)

// Handler handles calls about tags.
type Handler struct {
	Commands  *commands.Handler
	Lists     *linklist.Reader
	Requests  *write.Requests
	Waiter    *catchup.Waiter
	BodyLimit int64 // bytes
}

// tagPayload is the body of calls that write a tag.
type tagPayload struct {
	Label *string `name:"label" validate:"required"`
}

// List returns all tags of the account. For a key that is bound to tags, it returns only the tags
// of the URLs that the key sees. It sorts these by label, because the order of creation would
// reveal which labels existed before.
func (h *Handler) List(c *request.Context) (any, error) {
	tags, err := h.Lists.Tags(c.Context(), c.Owner())
	if err != nil {
		return nil, apierror.Unavailable(err)
	}
	stored := make([]string, len(tags))
	for i, tag := range tags {
		stored[i] = tag.Label
	}
	resp := contract.TagsAnswer{
		Envelope: response.Succeeded(), Tags: make([]contract.Tag, len(tags)),
	}
	for i, label := range record.Labels(c, stored) {
		resp.Tags[i] = contract.Tag{Label: label}
	}
	if c.Bound != nil {
		slices.SortFunc(
			resp.Tags, func(a, b contract.Tag) int { return cmp.Compare(a.Label, b.Label) },
		)
	}
	return resp, nil
}

// Create creates a tag.
func (h *Handler) Create(c *request.Context) (any, error) {
	label, r, err := h.readTag(c)
	if err != nil {
		return nil, err
	}
	outcome, err := h.Commands.CreateTag(c.Context(), r, label)
	if err != nil {
		return nil, err
	}
	// The tag may exist in another spelling, which a caller without links:read may not see.
	if !c.Scopes().Have(access.LinksRead) {
		outcome.Tag.Label = strings.TrimSpace(label)
	}
	return h.writtenTag(c, outcome)
}

// Rename renames the tag that the path names.
func (h *Handler) Rename(c *request.Context) (any, error) {
	label, r, err := h.readTag(c)
	if err != nil {
		return nil, err
	}
	outcome, err := h.Commands.RenameTag(c.Context(), r, c.Param("label"), label)
	if err != nil {
		return nil, err
	}
	return h.writtenTag(c, outcome)
}

// Delete deletes the tag that the path names.
func (h *Handler) Delete(c *request.Context) (any, error) {
	r, err := h.Requests.Begin(c)
	if err != nil {
		return nil, err
	}
	position, err := h.Commands.DeleteTag(c.Context(), r, c.Param("label"))
	if err != nil {
		return nil, err
	}
	if err := h.Waiter.AwaitTags(c, position.Commit); err != nil {
		return nil, err
	}
	return response.Succeeded(), nil
}

func (h *Handler) readTag(c *request.Context) (string, domain.Request, error) {
	body, err := decode.Body(c, h.BodyLimit)
	if err != nil {
		return "", domain.Request{}, err
	}
	payload := tagPayload{Label: body.Text("label")}
	if body.Err != nil {
		return "", domain.Request{}, body.Err
	}
	if err := decode.Check(payload, body.Path); err != nil {
		return "", domain.Request{}, err
	}
	r, err := h.Requests.Begin(c)
	return *payload.Label, r, err
}

func (h *Handler) writtenTag(c *request.Context, outcome commands.TagOutcome) (any, error) {
	if err := h.Waiter.AwaitTags(c, outcome.Position.Commit); err != nil {
		return nil, err
	}
	return contract.TagsAnswer{
		Envelope: response.Succeeded(), Tags: []contract.Tag{{Label: outcome.Tag.Label}},
	}, nil
}
