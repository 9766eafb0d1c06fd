package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"linkledger/httpapi/console/page"
)

// change is something that the list of links can do to several links at once.
type change struct {
	Name, Label string
	fields      map[string]any // of the links; nil: they are deleted
}

// changes are those that the list offers, but for tags.
var changes = []change{
	{"archive", "Archive", map[string]any{"archived": true}},
	{"unarchive", "Take out of the archive", map[string]any{"archived": false}},
	{"protect", "Protect from deletion", map[string]any{"protected": true}},
	{"unprotect", "End the protection", map[string]any{"protected": false}},
	{"delete", "Delete", nil},
}

// changeLinks changes the links that are ticked, or all that match the tag expression of the list,
// in one batch. The browser then sees the batch in the activity, where it can be undone.
func (h *Handler) changeLinks(p *page.Page) error {
	form, err := p.ReadForm()
	if err != nil {
		return err
	}
	p.NameRequest(form)
	selected := make(url.Values)
	if form.Get("all") != "" {
		selected.Set("tags", form.Get("tags"))
	} else {
		selected.Set("hashes", strings.Join(form["hash"], ","))
	}
	return p.Finish(changeSelected(p, selected, form), activityPath, h.links)
}

// changeSelected changes the links that the parameters of a call select.
func changeSelected(p *page.Page, selected, form url.Values) error {
	if selected.Get("tags")+selected.Get("hashes") == "" {
		return &page.RefusedError{
			Status: http.StatusBadRequest, Text: "Tick the links that are to change",
		}
	}
	path := "/v3/urls?" + selected.Encode()
	fields, ok := fieldsOf(form)
	switch {
	case !ok:
		return &page.RefusedError{Status: http.StatusBadRequest, Text: "Choose a change"}
	case fields == nil:
		return p.Call(http.MethodDelete, path, nil, nil)
	}
	var answer linksAnswer
	body := map[string]any{"urls": []any{fields}}
	if err := p.Call(http.MethodPatch, path, body, &answer); err != nil {
		return err
	}
	return refusedItems(answer.URLs)
}

// fieldsOf returns the fields that a form changes, nil if it deletes, or false if it has no change.
func fieldsOf(form url.Values) (fields map[string]any, ok bool) {
	chosen := form.Get("change")
	for _, c := range changes {
		if c.Name == chosen {
			return c.fields, true
		}
	}
	tags := labels(form.Get("change_tags"), ",")
	for i, tag := range tags {
		if tag[0] != '+' && tag[0] != '-' {
			tags[i] = "+" + tag
		}
	}
	return map[string]any{"tags": tags}, chosen == "tags" && len(tags) > 0
}

// maxReasons bounds how many refused items a page tells of.
const maxReasons = 10

// refusedItems returns a *page.RefusedError with the reasons if some items of a batch were refused.
func refusedItems(items []linkRecord) error {
	var reasons []string
	refused := 0
	for _, item := range items {
		if reason := item.reason(); reason != "" {
			if refused++; refused <= maxReasons {
				reasons = append(reasons, item.Hash+": "+reason)
			}
		}
	}
	if refused == 0 {
		return nil
	}
	count := fmt.Sprintf("%d of %d were changed. ", len(items)-refused, len(items))
	return &page.RefusedError{
		Status: http.StatusConflict, Text: count + strings.Join(reasons, ". "),
	}
}
