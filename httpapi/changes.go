package httpapi

import (
	"context"

	"linkledger/commands"
)

// change is a command without payload on several URLs.
type change func(ctx context.Context, r commands.Request, hashes []string) []commands.URLOutcome

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
	outcome := do(e.context(), request, []string{hash})[0]
	if outcome.Err != nil {
		return nil, outcome.Err
	}
	s.settle(e, written{urls: outcome.Position.Commit})
	return succeeded(), nil
}

// changeAll carries out a command on the URLs that the parameters select. What is refused to single ones is not told,
// there is no place for it in the answer.
func (s *server) changeAll(e *exchange, do change) (any, error) {
	chosen, err := s.selected(e)
	if err != nil {
		return nil, err
	}
	request, err := s.writeRequest(e)
	if err != nil {
		return nil, err
	}
	outcomes := do(e.context(), request, chosen.hashes)
	if err := interrupted(outcomes); err != nil {
		return nil, err
	}
	s.settle(e, positions(commands.URLsOutcome{Items: outcomes}))
	return succeeded(), nil
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
