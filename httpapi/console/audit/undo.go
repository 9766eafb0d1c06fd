package audit

// This file undoes calls. The button of an undo names everything that it takes back.

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"linkledger/httpapi/console/page"
	"linkledger/httpapi/console/page/calls"
	"linkledger/httpapi/console/page/words"
	"linkledger/httpapi/contract"
)

// nameUndos sets the field Undoes of the first entry of each call: what an undo of the call takes
// back. The words come from the types of events such as deletions, and from the fields that the
// other events changed.
func nameUndos(history []Entry) {
	first := make(map[string]int)
	parts := make(map[string][]string)
	for i, e := range history {
		if e.Batch == "" || e.Actor.Kind == "foreign" {
			continue
		}
		if _, known := first[e.Batch]; !known {
			first[e.Batch] = i
		}
		add := func(word string) {
			if !slices.Contains(parts[e.Batch], word) {
				parts[e.Batch] = append(parts[e.Batch], word)
			}
		}
		switch kind, _, _ := strings.Cut(e.Type, ".v"); kind {
		case "url.created":
			add("delete the link")
		case "url.deleted":
			add("restore the link")
		case "url.restored":
			add("delete the link again")
		case "url.stats_reset":
			add("count the clicks from before again")
		case "url.stats_restored":
			add("the clicks")
		default:
			for _, change := range e.Changes {
				add(words.Field(change.Field))
			}
		}
	}
	for batch, i := range first {
		history[i].Undoes = strings.Join(parts[batch], ", ")
	}
}

// UndoOnLink undoes the call that a form on the page of a link names. to is the path of that page.
// If the call changed other links too, UndoOnLink undoes nothing, and redirects to the page of the
// call, which names these links.
func UndoOnLink(p *page.Page, to string) error {
	batch := p.Form.Get("batch")
	if changed, err := changedBy(p, batch); err == nil && changed > 1 {
		return p.Finish(nil, ActivityPath+"/"+url.PathEscape(batch), fmt.Sprintf(
			"Nothing is undone yet. The call changed %d links, which are undone together", changed,
		))
	}
	return undoCalls(p, to)
}

// undo undoes calls, the last one first.
func undo(p *page.Page) error { return undoCalls(p, p.Back()) }

// undoCalls undoes the calls that the form names, the last one first. to is the path of the page
// that follows. If some links were changed after these calls, the page says why these links are not
// undone, and offers to undo the rest.
func undoCalls(p *page.Page, to string) error {
	query := ""
	if p.Form.Get("changed") == "skip" {
		query = "?changed=skip"
	}
	var reasons []string
	undone, refused := 0, 0
	batches := p.Form["batch"]
	if len(batches) > maxUndone {
		return &calls.RefusedError{Status: http.StatusBadRequest, Text: "These are too many calls"}
	}
	for _, batch := range slices.Backward(append([]string{}, batches...)) {
		var answer contract.UndoAnswer
		path := "/v3/batches/" + url.PathEscape(batch) + "/undo" + query
		if err := p.Call(http.MethodPost, path, nil, &answer); err != nil {
			return err
		}
		undone, refused = undone+answer.Undo.Undone, refused+answer.Undo.Refused
		for _, u := range answer.URLs {
			if len(reasons) < maxReasons {
				reasons = append(reasons, u.Hash+": "+words.Reason(&u.Error))
			}
		}
	}
	if refused == 0 {
		return p.FinishUndoable(nil, to, words.Are(undone, "link")+" as before the change")
	}
	if query == "" {
		p.Rest = batches
	}
	text := append([]string{fmt.Sprintf("%d undone, %d not", undone, refused)}, reasons...)
	return &calls.RefusedError{
		Status: http.StatusConflict, Text: strings.Join(text, ". "), Done: undone > 0,
	}
}

// maxUndone bounds the calls that a form undoes at once.
const maxUndone = 50

// maxReasons bounds the links for which a page says why they are not undone.
const maxReasons = 10
