package httpapi

import (
	"context"

	"linkledger/commands"
	"linkledger/commands/domain"
	"linkledger/queries/tagexpr"
)

// change is a command without payload on several URLs.
type change func(ctx context.Context, r domain.Request, refs []commands.Ref) []commands.URLOutcome

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

// portion is how many URLs an operation on any number of them changes at a time. The writes of others wait for the read
// models behind it.
const portion = 25

// operation is a change of any number of URLs.
type operation struct {
	s    *server
	e    *exchange
	last written // how far the log has to be read to see all of it
	late bool    // the read models were not in time once
}

// begin waits for the turn of an operation of the account. The caller calls end when it is done.
func (s *server) begin(e *exchange) (o *operation, end func(), err error) {
	cancel := e.extend(s.cfg.OperationTimeout)
	next, err := s.turns.take(e.context(), e.account.ID, e.left)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	return &operation{s: s, e: e}, func() { next(); cancel() }, nil
}

// changed takes in the outcomes of a portion, and returns its error or when the read models show it: so there is never more of
// the operation than a portion between the write of another account and its answer. Read models that are not in time are
// waited for at the end alone.
func (o *operation) changed(outcomes []commands.URLOutcome) error {
	if err := interrupted(outcomes); err != nil {
		return err
	}
	w := positions(commands.URLsOutcome{Items: outcomes})
	o.last.urls = max(o.last.urls, w.urls)
	if o.late || w.urls == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(o.e.context(), o.s.cfg.WaitTimeout)
	defer cancel()
	o.late = o.s.cfg.Wait(ctx, projectionLinks, w.urls) != nil
	return nil
}

// changeTagged carries out a command on all URLs that meet an expression when the call arrives. What interrupts it
// leaves the first URLs changed and the others not; the same call again does the rest.
func (s *server) changeTagged(e *exchange, expression *tagexpr.Expr, do change) error {
	request, err := s.writeRequest(e)
	if err != nil {
		return err
	}
	operation, end, err := s.begin(e)
	if err != nil {
		return err
	}
	defer end()
	if expression.AsksForVisits() {
		s.awaitClicks(e, projectionLinks)
	}
	tagged, err := s.cfg.Lists.Select(e.context(), e.account.ID, expression)
	if err != nil {
		return answered(err)
	}
	for {
		ids, err := tagged.Next(e.context(), portion)
		if err != nil {
			return answered(err)
		}
		if len(ids) == 0 {
			s.settle(e, operation.last)
			return nil
		}
		refs := make([]commands.Ref, len(ids))
		for i, id := range ids {
			refs[i].ID = id.String()
		}
		if err := operation.changed(do(e.context(), request, refs)); err != nil {
			return err
		}
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
