package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"linkledger/httpapi/console/page"
)

// before is added to the name of a field for what the form showed. Only what differs from it is
// sent, so that a form that was open for long takes back nothing that was changed meanwhile.
const before = "_before"

// flags are the fields that the form of a link shows as boxes to tick.
var flags = []string{"protected", "archived", "ping", "email_stats"}

// editOf returns the fields of the form that edits a link.
func editOf(l *linkRecord) url.Values {
	fields := map[string]string{
		"long_url": l.LongURL, "custom_hash": l.Hash, "note": l.Note,
		"tags": joinedLabels(l.Tags), "max_clicks": strconv.FormatInt(l.MaxClicks, 10),
	}
	if l.ExpirationDate != nil {
		fields["expiration_date"] = *l.ExpirationDate
	}
	for i, on := range []bool{l.Protected, l.Archived, l.Ping, l.EmailStats} {
		if on {
			fields[flags[i]] = "1"
		}
	}
	edit := make(url.Values)
	for name, value := range fields {
		edit.Set(name, value)
		edit.Set(name+before, value)
	}
	return edit
}

// Fields returns the names of the fields of the form.
func (linkData) Fields() []string {
	return append([]string{
		"long_url", "custom_hash", "note", "tags", "max_clicks", "expiration_date",
	}, flags...)
}

// editLink changes what differs from what the form showed.
func (h *Handler) editLink(p *page.Page) error {
	form, err := p.ReadForm()
	if err != nil {
		return err
	}
	item := changedFields(form)
	if len(item) == 0 {
		p.Redirect = linkPath(p)
		return nil
	}
	path := "/v3/urls/" + url.PathEscape(p.C.Param("hash"))
	edited, err := writeLink(p, http.MethodPatch, path, item)
	p.Form = form
	return p.Finish(err, edited.Path(), h.link)
}

// changedFields returns the fields of an edit whose value differs from the one before.
func changedFields(form url.Values) map[string]any {
	item := make(map[string]any)
	changed := func(name string) (value string, ok bool) {
		value = strings.TrimSpace(form.Get(name))
		return value, value != form.Get(name+before)
	}
	for _, name := range []string{"long_url", "custom_hash", "note", "expiration_date"} {
		if value, ok := changed(name); ok {
			item[name] = value
		}
	}
	if value, ok := changed("max_clicks"); ok {
		item["max_clicks"] = value // the API refuses what is no number
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			item["max_clicks"] = n
		}
	}
	for _, name := range flags {
		if value, ok := changed(name); ok {
			item[name] = value != ""
		}
	}
	tags := tagChanges(labels(form.Get("tags"+before), ","), labels(form.Get("tags"), ","))
	if len(tags) > 0 {
		item["tags"] = tags
	}
	return item
}

// tagChanges returns the instructions that lead from some labels to others.
func tagChanges(former, after []string) []string {
	var changes []string
	for _, label := range former {
		if !slices.Contains(after, label) {
			changes = append(changes, "-"+label)
		}
	}
	for _, label := range after {
		if !slices.Contains(former, label) {
			changes = append(changes, "+"+label)
		}
	}
	return changes
}
