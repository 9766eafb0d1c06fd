package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
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
func (h *Handler) changeLinks(p *page) error {
	form, err := p.form()
	if err != nil {
		return err
	}
	selected := make(url.Values)
	if form.Get("all") != "" {
		selected.Set("tags", form.Get("tags"))
	} else {
		selected.Set("hashes", strings.Join(form["hash"], ","))
	}
	err = p.changeSelected(selected, form)
	if refused, ok := asRefusal(err); ok {
		err = h.links(p)
		p.Refused, p.status = refused.text, refused.status
		return err
	}
	p.redirect = activityPath
	return err
}

// changeSelected changes the links that the parameters of a call select.
func (p *page) changeSelected(selected, form url.Values) error {
	if selected.Get("tags")+selected.Get("hashes") == "" {
		return &refusal{status: http.StatusBadRequest, text: "Tick the links that are to change"}
	}
	path := "/v3/urls?" + selected.Encode()
	fields := make(map[string]any)
	for _, c := range changes {
		if c.Name == form.Get("change") {
			if fields = c.fields; fields == nil {
				return p.call(http.MethodDelete, path, nil, nil)
			}
		}
	}
	if tags := labels(form.Get("change_tags")); len(tags) > 0 && form.Get("change") == "tags" {
		for i, tag := range tags {
			if !strings.ContainsRune("+-", rune(tag[0])) {
				tags[i] = "+" + tag
			}
		}
		fields["tags"] = tags
	}
	if len(fields) == 0 {
		return &refusal{status: http.StatusBadRequest, text: "Choose a change"}
	}
	var answer linksAnswer
	body := map[string]any{"urls": []any{fields}}
	if err := p.call(http.MethodPatch, path, body, &answer); err != nil {
		return err
	}
	return refusedItems(answer.URLs)
}

// maxReasons bounds how many refused items a page tells of.
const maxReasons = 10

// refusedItems returns a *refusal with the reasons if some items of a batch were refused.
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
	return &refusal{status: http.StatusConflict, text: count + strings.Join(reasons, ". ")}
}
