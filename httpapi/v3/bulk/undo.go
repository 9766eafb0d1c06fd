package bulk

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/accounts"
	"linkledger/commands/domain"
	"linkledger/commands/linkwrite"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/decode"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/v3/record"
	"linkledger/httpapi/v3/selection"
)

// Undo undoes the changes of a batch. If it fails, it may have undone the changes of some URLs. The
// client can repeat the call to undo the rest.
func (b *Changes) Undo(c *request.Context) (any, error) {
	batch, err := selection.PathBatch(c)
	if err != nil {
		return nil, err
	}
	skip, err := skipsChanged(c)
	if err != nil {
		return nil, err
	}
	after := uuid.Nil
	undone := domain.Undone{Batch: batch.String(), SkipChanged: skip}
	return b.undo(c, undone, func() ([]uuid.UUID, error) {
		ids, err := b.cfg.Queries.BatchLinks(c.Context(), c.Account.ID, batch, after, portion)
		if len(ids) > 0 {
			after = ids[len(ids)-1]
		}
		return ids, err
	})
}

// skipsChanged reads the parameter changed. It returns true if the undo keeps the changes that were
// made after the batch.
func skipsChanged(c *request.Context) (bool, error) {
	query, err := decode.Query(c)
	if err != nil {
		return false, err
	}
	switch query.Get("changed") {
	case "":
		return false, nil
	case "skip":
		return true, nil
	}
	return false, apierror.WrongInput("changed is skip, or left out")
}

// UndoKey undoes the changes that calls with a key have made since a time.
func (b *Changes) UndoKey(c *request.Context) (any, error) {
	query, err := decode.Query(c)
	if err != nil {
		return nil, err
	}
	since, err := decode.Time(query, "since")
	if err != nil {
		return nil, err
	}
	if since.IsZero() {
		return nil, &apierror.Error{
			Code: apierror.CodeMissingInput, Details: "since is missing: it is the time from " +
				"which on the changes of the key are undone",
		}
	}
	since = since.Truncate(time.Microsecond) // PostgreSQL stores microseconds
	key := c.Param("id")
	known, err := b.cfg.Queries.HasKey(c.Context(), c.Account.ID, key)
	if err != nil {
		return nil, apierror.Unavailable(err)
	}
	if !known {
		return nil, accounts.ErrNoKey(key)
	}
	b.cfg.Waiter.AwaitActivity(c)
	var left []uuid.UUID
	begun := false
	return b.undo(c, domain.Undone{Key: key, Since: since}, func() (ids []uuid.UUID, err error) {
		if !begun {
			begun = true
			left, err = b.cfg.Queries.KeyLinks(c.Context(), c.Account.ID, key, since)
		}
		n := min(portion, len(left))
		ids, left = left[:n], left[n:]
		return ids, err
	})
}

// undo takes back the changes that undone names. It calls next for the URLs of each portion, until
// next returns none.
func (b *Changes) undo(
	c *request.Context, undone domain.Undone, next func() ([]uuid.UUID, error),
) (any, error) {
	r, err := b.cfg.Requests.Begin(c)
	if err != nil {
		return nil, err
	}
	r.Undoes = undone
	op, end, err := b.begin(c)
	if err != nil {
		return nil, err
	}
	defer end()
	resp := contract.UndoAnswer{
		Envelope: response.Succeeded(), URLs: []contract.FailedURL{},
		Undo: contract.Undo{Batch: undone.Batch, Key: undone.Key},
	}
	for {
		if err := op.mayGoOn(); err != nil {
			return nil, err
		}
		over := op.over()
		ids, err := next()
		if over && (err != nil || len(ids) > 0) {
			return nil, errTooLong
		}
		if err != nil {
			return nil, apierror.Unavailable(err)
		}
		if len(ids) == 0 {
			break
		}
		texts := make([]string, len(ids))
		for i, id := range ids {
			texts[i] = id.String()
		}
		outcomes := op.run(func(ctx context.Context) []linkwrite.Outcome {
			return b.cfg.Commands.Undo(ctx, r, texts)
		})
		if c.Bound != nil { // leave out URLs that the bound key does not see
			outcomes = slices.DeleteFunc(outcomes, func(o linkwrite.Outcome) bool {
				return apierror.RefusedAs(o.Err, domain.URLNotFound)
			})
		}
		if err := op.addOutcomes(outcomes); err != nil {
			return nil, err
		}
		b.addUndone(c, &resp, outcomes)
	}
	if resp.Undo.Undone+resp.Undo.Refused == 0 {
		return nil, &apierror.Error{
			Code:    apierror.CodeURLNotFound,
			Details: "There is no URL of this account that the batch or the key changed",
		}
	}
	return resp, op.awaitEnd()
}

func (b *Changes) addUndone(
	c *request.Context, resp *contract.UndoAnswer, outcomes []linkwrite.Outcome,
) {
	for _, outcome := range outcomes {
		if outcome.Err == nil {
			resp.Undo.Undone++
			continue
		}
		resp.Undo.Refused++
		if len(resp.URLs) < b.cfg.MaxFailed {
			refused, _ := apierror.Refusal(outcome.Err) // addOutcomes has returned other errors
			resp.URLs = append(
				resp.URLs, record.Refused(c, outcome, response.NewItemError(refused)),
			)
		}
	}
}
