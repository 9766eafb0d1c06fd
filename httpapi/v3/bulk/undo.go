package bulk

import (
	"slices"

	"github.com/google/uuid"

	"linkledger/commands"
	"linkledger/commands/domain"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/v3/record"
)

// undoResponse is the response of a call that undid a batch.
type undoResponse struct {
	response.Envelope
	Undo undoRecord `json:"undo"`
	// URLs are the refused URLs, at most Config.MaxFailed of them.
	URLs []record.Failed `json:"urls"`
}

type undoRecord struct {
	Batch   string `json:"batch"`
	Undone  int    `json:"undone"`  // URLs that are as they were before the batch
	Refused int    `json:"refused"` // URLs that were left unchanged
}

// Undo undoes the changes of a batch. If it fails, it has undone only the first URLs. The client
// can repeat the call to undo the rest.
func (b *Changes) Undo(c *request.Context) (any, error) {
	batch, err := uuid.Parse(c.Param("id"))
	if err != nil {
		return nil, apierror.WrongInput("The id of a batch is a UUID, not %q", c.Param("id"))
	}
	r, err := b.cfg.Requests.Begin(c)
	if err != nil {
		return nil, err
	}
	op, end, err := b.begin(c)
	if err != nil {
		return nil, err
	}
	defer end()
	resp := undoResponse{
		Envelope: response.Succeeded(), Undo: undoRecord{Batch: batch.String()},
		URLs: []record.Failed{},
	}
	for after := uuid.Nil; ; {
		ids, err := b.cfg.Queries.BatchLinks(c.Context(), c.Account.ID, batch, after, portion)
		if err != nil {
			return nil, apierror.Unavailable(err)
		}
		if len(ids) == 0 {
			break
		}
		after = ids[len(ids)-1]
		texts := make([]string, len(ids))
		for i, id := range ids {
			texts[i] = id.String()
		}
		outcomes := b.cfg.Commands.UndoBatch(c.Context(), r, batch.String(), texts)
		if c.Bound != nil { // the key does not see URLs that are not found
			outcomes = slices.DeleteFunc(outcomes, func(o commands.URLOutcome) bool {
				return apierror.RefusedAs(o.Err, domain.URLNotFound)
			})
		}
		if err := op.addOutcomes(outcomes); err != nil {
			return nil, err
		}
		b.addUndone(&resp, outcomes)
	}
	if resp.Undo.Undone+resp.Undo.Refused == 0 {
		return nil, &apierror.Error{
			Code:    apierror.CodeURLNotFound,
			Details: "There is no URL of this account that a batch with this id changed",
		}
	}
	b.cfg.Waiter.AwaitWrite(c, op.written)
	return resp, nil
}

func (b *Changes) addUndone(resp *undoResponse, outcomes []commands.URLOutcome) {
	for _, outcome := range outcomes {
		if outcome.Err == nil {
			resp.Undo.Undone++
			continue
		}
		resp.Undo.Refused++
		if len(resp.URLs) < b.cfg.MaxFailed {
			refused, _ := apierror.Refusal(outcome.Err) // addOutcomes has returned other errors
			resp.URLs = append(resp.URLs, record.Failed{
				Hash: outcome.URL.Hash, LongURL: &outcome.URL.LongURL,
				Error: response.NewItemError(refused),
			})
		}
	}
}
