package links

// This file changes several links at once.

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"linkledger/httpapi/console/audit"
	"linkledger/httpapi/console/page"
	"linkledger/httpapi/console/page/calls"
	"linkledger/httpapi/console/page/words"
	"linkledger/httpapi/console/tags"
)

// change is something that the list of links can do to several links at once.
type change struct {
	Name, Label string
	fields      map[string]any // new values; nil: the links are deleted
	did         string         // the state of the links afterwards
}

// changes are the changes that the list offers, except changes of tags.
var changes = []change{
	{"archive", "Archive", map[string]any{"archived": true}, "archived"},
	{"unarchive", "Take out of the archive", map[string]any{"archived": false}, "unarchived"},
	{"protect", "Protect from deletion", map[string]any{"protected": true}, "protected"},
	{"unprotect", "End the protection", map[string]any{"protected": false}, "unprotected"},
	{"delete", "Delete", nil, "deleted"},
}

// changeLinks changes the links that are ticked, or all links that match the tag expression of the
// list. It then redirects to the list, which offers to undo the change.
func changeLinks(p *page.Page) error {
	selected := make(url.Values)
	if p.Form.Get("all") != "" {
		selected.Set("tags", p.Form.Get("tags"))
	} else {
		selected.Set("hashes", strings.Join(p.Form["hash"], ","))
	}
	did, err := changeSelected(p, selected)
	if err != nil {
		return err
	}
	changed, known := audit.ChangedByLast(p)
	switch {
	case !known:
		return p.FinishUndoable(nil, p.Back(), "The links are "+did)
	case changed == 0:
		return p.Finish(nil, p.Back(), "Nothing was changed: all links were in this state already")
	}
	return p.FinishUndoable(nil, p.Back(), words.Are(changed, "link")+" "+did)
}

// changeSelected changes the links that the parameters of a call select. did is the state that the
// links now have.
func changeSelected(p *page.Page, selected url.Values) (did string, err error) {
	if selected.Get("tags")+selected.Get("hashes") == "" {
		return "", &calls.RefusedError{
			Status: http.StatusBadRequest, Text: "Tick the links that are to change",
		}
	}
	path := "/v3/urls?" + selected.Encode()
	fields, did, ok := fieldsOf(p.Form)
	switch {
	case !ok:
		return "", &calls.RefusedError{Status: http.StatusBadRequest, Text: "Choose a change"}
	case fields == nil:
		return did, p.Call(http.MethodDelete, path, nil, nil)
	}
	var answer linksAnswer
	body := map[string]any{"urls": []any{fields}}
	if err := p.Call(http.MethodPatch, path, body, &answer); err != nil {
		return "", err
	}
	return did, refusedItems(answer.URLs)
}

// fieldsOf returns the fields that a form changes, or nil if the form deletes links. did is the
// state of the links afterwards. ok is false if the form has no change.
func fieldsOf(form url.Values) (fields map[string]any, did string, ok bool) {
	chosen := form.Get("change")
	for _, c := range changes {
		if c.Name == chosen {
			return c.fields, c.did, true
		}
	}
	labels := tags.Labels(form.Get("change_tags"), ",")
	for i, label := range labels {
		if label[0] != '+' && label[0] != '-' {
			labels[i] = "+" + label
		}
	}
	return map[string]any{"tags": labels}, "tagged anew", chosen == "tags" && len(labels) > 0
}

// maxReasons bounds the refused items for which a page gives the reason.
const maxReasons = 10

// refusedItems returns a *calls.RefusedError with the reasons if items of a batch were refused.
func refusedItems(items []link) error {
	var reasons []string
	refused := 0
	for _, item := range items {
		if reason := words.Reason(item.Error); reason != "" {
			if refused++; refused <= maxReasons {
				reasons = append(reasons, item.Hash+": "+reason)
			}
		}
	}
	if refused == 0 {
		return nil
	}
	told := fmt.Sprintf("%d of %d were changed. ", len(items)-refused, len(items))
	return &calls.RefusedError{
		Status: http.StatusConflict, Text: told + strings.Join(reasons, ". "),
		Done: refused < len(items),
	}
}
