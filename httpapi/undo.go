package httpapi

import (
	"github.com/google/uuid"

	"linkledger/commands"
)

// undoAnswer answers a call that undid a batch.
type undoAnswer struct {
	envelope
	Undo undoRecord   `json:"undo"`
	URLs []failedItem `json:"urls"` // that were left as they are, as many as a page of a list may have
}

type undoRecord struct {
	Batch   string `json:"batch"`
	Undone  int    `json:"undone"` // URLs that are as they were before the batch
	Refused int    `json:"refused"`
}

// undoBatch undoes what a call changed. What interrupts it leaves the first URLs undone and the others not; the same
// call again does the rest.
func (b *changes) undoBatch(c *exchange) (any, error) {
	batch, err := uuid.Parse(c.param("id"))
	if err != nil {
		return nil, wrongInput("The id of a batch is a UUID, not %q", c.param("id"))
	}
	r, err := b.cfg.Requests.begin(c)
	if err != nil {
		return nil, err
	}
	op, end, err := b.begin(c)
	if err != nil {
		return nil, err
	}
	defer end()
	answer := undoAnswer{envelope: succeeded(), Undo: undoRecord{Batch: batch.String()}, URLs: []failedItem{}}
	for after := uuid.Nil; ; {
		ids, err := b.cfg.Queries.BatchLinks(c.context(), c.account.ID, batch, after, portion)
		if err != nil {
			return nil, answered(err)
		}
		if len(ids) == 0 {
			break
		}
		after = ids[len(ids)-1]
		texts := make([]string, len(ids))
		for i, id := range ids {
			texts[i] = id.String()
		}
		outcomes := b.cfg.Commands.UndoBatch(c.context(), r, batch.String(), texts)
		if err := op.changed(outcomes); err != nil {
			return nil, err
		}
		b.addUndone(&answer, outcomes)
	}
	if answer.Undo.Undone+answer.Undo.Refused == 0 {
		return nil, &apiError{code: codeURLNotFound, details: "There is no URL of this account that a batch with this id changed"}
	}
	b.cfg.Waiter.settle(c, op.last)
	return answer, nil
}

func (b *changes) addUndone(answer *undoAnswer, outcomes []commands.URLOutcome) {
	for _, outcome := range outcomes {
		if outcome.Err == nil {
			answer.Undo.Undone++
			continue
		}
		answer.Undo.Refused++
		if len(answer.URLs) < b.cfg.MaxFailed {
			refused, _ := refusal(outcome.Err) // others have interrupted
			answer.URLs = append(answer.URLs, failedItem{
				Hash: outcome.URL.Hash, LongURL: &outcome.URL.LongURL, Error: itemOf(refused),
			})
		}
	}
}
