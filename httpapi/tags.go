package httpapi

import (
	"linkledger/commands"
	"linkledger/commands/domain"
)

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

func (s *server) listTags(e *exchange) (any, error) {
	tags, err := s.cfg.Queries.Tags(e.context(), e.account.ID)
	if err != nil {
		return nil, answered(err)
	}
	answer := tagsAnswer{envelope: succeeded(), Tags: make([]tagRecord, len(tags))}
	for i, tag := range tags {
		answer.Tags[i] = tagRecord{Label: tag.Label}
	}
	return answer, nil
}

func (s *server) createTag(e *exchange) (any, error) {
	label, request, err := s.readTag(e)
	if err != nil {
		return nil, err
	}
	outcome, err := s.cfg.Commands.CreateTag(e.context(), request, label)
	if err != nil {
		return nil, err
	}
	return s.writtenTag(e, outcome), nil
}

func (s *server) renameTag(e *exchange) (any, error) {
	label, request, err := s.readTag(e)
	if err != nil {
		return nil, err
	}
	outcome, err := s.cfg.Commands.RenameTag(e.context(), request, e.param("label"), label)
	if err != nil {
		return nil, err
	}
	return s.writtenTag(e, outcome), nil
}

func (s *server) deleteTag(e *exchange) (any, error) {
	request, err := s.writeRequest(e)
	if err != nil {
		return nil, err
	}
	position, err := s.cfg.Commands.DeleteTag(e.context(), request, e.param("label"))
	if err != nil {
		return nil, err
	}
	s.settle(e, written{tags: position.Commit})
	return succeeded(), nil
}

func (s *server) readTag(e *exchange) (string, domain.Request, error) {
	body, err := s.readBody(e)
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
	request, err := s.writeRequest(e)
	return *payload.Label, request, err
}

func (s *server) writtenTag(e *exchange, outcome commands.TagOutcome) tagsAnswer {
	s.settle(e, written{tags: outcome.Position.Commit})
	return tagsAnswer{envelope: succeeded(), Tags: []tagRecord{{Label: outcome.Tag.Label}}}
}
