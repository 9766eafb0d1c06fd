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

// restoreURL undoes the deletion of the URL that the path names, or makes it as it was in an earlier version.
func (s *server) restoreURL(e *exchange) (any, error) {
	hash, err := pathHash(e)
	if err != nil {
		return nil, err
	}
	body, err := s.readBody(e)
	if err != nil {
		return nil, err
	}
	for name := range body.values {
		if name != "version" { // a version that is misspelled would undo a deletion instead
			return nil, wrongInput("A restore takes a version, not %q", name)
		}
	}
	restore := commands.RestoreURL{Hash: hash, Version: body.integer("version")}
	if body.err != nil {
		return nil, body.err
	}
	request, err := s.writeRequest(e)
	if err != nil {
		return nil, err
	}
	outcome := s.cfg.Commands.RestoreURL(e.context(), request, restore)
	if outcome.Err != nil {
		return nil, outcome.Err
	}
	s.settle(e, written{urls: outcome.Position.Commit})
	link := s.counted(e, []commands.URLOutcome{outcome})[0]
	return urlsAnswer{envelope: succeeded(), URLs: []any{s.writtenRecord(e, link)}}, nil
}

// undoBatch undoes what a call changed. What interrupts it leaves the first URLs undone and the others not; the same
// call again does the rest.
func (s *server) undoBatch(e *exchange) (any, error) {
	batch, err := uuid.Parse(e.param("id"))
	if err != nil {
		return nil, wrongInput("The id of a batch is a UUID, not %q", e.param("id"))
	}
	request, err := s.writeRequest(e)
	if err != nil {
		return nil, err
	}
	operation, end, err := s.begin(e)
	if err != nil {
		return nil, err
	}
	defer end()
	answer := undoAnswer{envelope: succeeded(), Undo: undoRecord{Batch: batch.String()}, URLs: []failedItem{}}
	for after := uuid.Nil; ; {
		ids, err := s.cfg.Queries.BatchLinks(e.context(), e.account.ID, batch, after, portion)
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
		outcomes := s.cfg.Commands.UndoBatch(e.context(), request, batch.String(), texts)
		if err := operation.changed(outcomes); err != nil {
			return nil, err
		}
		s.addUndone(&answer, outcomes)
	}
	if answer.Undo.Undone+answer.Undo.Refused == 0 {
		return nil, &apiError{code: codeURLNotFound, details: "There is no URL of this account that a batch with this id changed"}
	}
	s.settle(e, operation.last)
	return answer, nil
}

func (s *server) addUndone(answer *undoAnswer, outcomes []commands.URLOutcome) {
	for _, outcome := range outcomes {
		if outcome.Err == nil {
			answer.Undo.Undone++
			continue
		}
		answer.Undo.Refused++
		if len(answer.URLs) < s.cfg.MaxPageSize {
			refused, _ := refusal(outcome.Err) // others have interrupted
			answer.URLs = append(answer.URLs, failedItem{
				Hash: outcome.URL.Hash, LongURL: &outcome.URL.LongURL, Error: refused.item(),
			})
		}
	}
}
