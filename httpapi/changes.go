package httpapi

import (
	"context"

	"linkledger/commands"
	"linkledger/queries/tagexpr"
)

// change is a command without payload on several URLs.
type change func(ctx context.Context, r commands.Request, refs []commands.Ref) []commands.URLOutcome

// changeOne carries out a command on the URL that the path names.
func (s *server) changeOne(e *exchange, do change) (any, error) {
	hash, err := pathHash(e)
	if err != nil {
		return nil, err
	}
	request, err := s.writeRequest(e)
	if err != nil {
		return nil, err
	}
	outcome := do(e.context(), request, commands.ByHash(hash))[0]
	if outcome.Err != nil {
		return nil, outcome.Err
	}
	s.settle(e, written{urls: outcome.Position.Commit})
	return succeeded(), nil
}

// changeAll carries out a command on the URLs that the parameters select. What is refused to single ones is not told,
// there is no place for it in the answer.
func (s *server) changeAll(e *exchange, do change) (any, error) {
	chosen, err := s.chosen(e)
	if err != nil {
		return nil, err
	}
	if chosen.hashes == nil && chosen.tags == nil {
		return nil, &apiError{code: codeMissingInput, details: "Say which URLs are meant, with the parameter hashes or tags"}
	}
	if chosen.tags != nil {
		if err := s.changeTagged(e, chosen.tags, do); err != nil {
			return nil, err
		}
		return succeeded(), nil
	}
	request, err := s.writeRequest(e)
	if err != nil {
		return nil, err
	}
	outcomes := do(e.context(), request, commands.ByHash(chosen.hashes...))
	if err := interrupted(outcomes); err != nil {
		return nil, err
	}
	s.settle(e, positions(commands.URLsOutcome{Items: outcomes}))
	return succeeded(), nil
}

// portion is how many tagged URLs are changed at a time. More are not in memory, however many the tags select.
const portion = 500

// changeTagged carries out a command on all URLs that meet an expression when the call arrives. What interrupts it
// leaves the first URLs changed and the others not; the same call again does the rest.
func (s *server) changeTagged(e *exchange, expression *tagexpr.Expr, do change) error {
	request, err := s.writeRequest(e)
	if err != nil {
		return err
	}
	defer e.extend(s.cfg.OperationTimeout)()
	if expression.AsksForVisits() {
		s.awaitClicks(e, projectionLinks)
	}
	tagged, err := s.cfg.Queries.Select(e.context(), e.account.ID, expression)
	if err != nil {
		return answered(err)
	}
	var last written
	for {
		ids, err := tagged.Next(e.context(), portion)
		if err != nil {
			return answered(err)
		}
		if len(ids) == 0 {
			s.settle(e, last)
			return nil
		}
		refs := make([]commands.Ref, len(ids))
		for i, id := range ids {
			refs[i].ID = id.String()
		}
		outcomes := do(e.context(), request, refs)
		if err := interrupted(outcomes); err != nil {
			return err
		}
		last.urls = max(last.urls, positions(commands.URLsOutcome{Items: outcomes}).urls)
	}
}

// interrupted returns why one of the items could not be carried out, other than by a refusal.
func interrupted(outcomes []commands.URLOutcome) error {
	for _, outcome := range outcomes {
		if outcome.Err == nil {
			continue
		}
		if _, refused := refusal(outcome.Err); !refused {
			return outcome.Err
		}
	}
	return nil
}
