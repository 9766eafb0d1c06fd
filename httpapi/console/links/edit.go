package links

// This file edits one link.

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"linkledger/httpapi/console/page"
	"linkledger/httpapi/console/page/calls"
	"linkledger/httpapi/console/page/words"
	"linkledger/httpapi/console/tags"
	"linkledger/httpapi/contract"
)

// before is the suffix of the names of hidden fields. A hidden field has the value that the form
// showed in the field without the suffix. Only a field whose value differs is sent to the API, so a
// form that was open for long does not take back changes that were made meanwhile.
const before = "_before"

// editOf returns the fields of the form that edits a link.
func editOf(l *link) url.Values {
	fields := map[string]string{
		"long_url": l.LongURL, "custom_hash": l.Hash, "note": l.Note, "tags": tags.Joined(l.Tags),
	}
	for _, s := range settingsOf(l.Settings) {
		if s.Text != "" {
			fields[s.Name] = s.Text
		}
	}
	edit := make(url.Values)
	for name, value := range fields {
		edit.Set(name, value)
		edit.Set(name+before, value)
	}
	return edit
}

// Fields returns the names of the fields of the form. The hash has a form of its own, because the
// present short link ends when the hash changes.
func (linkData) Fields() []string {
	fields := []string{"long_url", "note", "tags"}
	for _, s := range append((link{}).Values(), (link{}).Flags()...) {
		fields = append(fields, s.Name)
	}
	return fields
}

// edited returns the names of the fields that an edit can change.
func edited() []string { return append(linkData{}.Fields(), "custom_hash") }

// typedOver replaces fields of edit with the values that were typed into one of the forms of the
// link.
func typedOver(edit, typed url.Values) url.Values {
	for name := range typed {
		field, _ := strings.CutSuffix(name, before)
		if values, ok := typed[field]; ok {
			edit[field] = values
		} else {
			edit.Del(field) // a box that is not ticked
		}
		if values, ok := typed[field+before]; ok {
			edit[field+before] = values
		}
	}
	return edit
}

// edit saves the fields whose values differ from the values that the form showed. If another change
// of one of these fields was saved meanwhile, edit saves nothing. The page then shows the value of
// that change beside the typed value, and saving again replaces it by the typed value.
func edit(p *page.Page) error {
	item := changedFields(p.Form)
	if len(item) == 0 {
		return p.Finish(nil, linkPath(p), "There is nothing to save: no field was changed")
	}
	if err := checkNote(item); err != nil {
		return err
	}
	path := linkCall(p)
	var current linksAnswer
	if err := p.Get(path, nil, &current); err != nil {
		return err
	}
	if len(current.URLs) > 0 {
		if err := changedMeanwhile(p, &current.URLs[0], item); err != nil {
			return err
		}
	}
	saved, err := writeLink(p, http.MethodPatch, path, item)
	return p.FinishUndoable(err, saved.Path(), "Saved: "+itemWords(item))
}

// itemWords returns the names of the fields of an edit, for people.
func itemWords(item map[string]any) string {
	var fields []string
	for _, name := range edited() {
		if _, ok := item[name]; ok {
			fields = append(fields, words.Field(name))
		}
	}
	return strings.Join(fields, ", ")
}

// changedMeanwhile refuses an edit if a field that it changes no longer has the value that the form
// showed. The form then shows the present value beside the one that was typed.
func changedMeanwhile(p *page.Page, l *link, item map[string]any) error {
	current := editOf(l)
	meanwhile := make(map[string]string)
	var fields []string
	for _, name := range (linkData{}).Fields() {
		_, edits := item[name]
		now := current.Get(name)
		// Labels are added and removed one by one, so nothing is overwritten.
		if !edits || name == "tags" || !p.Form.Has(name+before) ||
			asTyped(now) == asTyped(p.Form.Get(name+before)) ||
			asTyped(now) == asTyped(p.Form.Get(name)) {
			continue
		}
		meanwhile[name] = now
		if isFlag(name) || now == "" {
			meanwhile[name] = map[bool]string{true: "nothing", false: "ticked"}[now == ""]
		}
		fields = append(fields, words.Field(name)+" ("+meanwhile[name]+")")
		p.Form.Set(name+before, now)
	}
	if len(meanwhile) == 0 {
		return nil
	}
	p.Told = meanwhile
	return &calls.RefusedError{
		Status: http.StatusConflict,
		Text: "Nothing is saved yet. Another change was saved meanwhile: " +
			strings.Join(fields, ", ") + ". Save again to replace that by what you typed",
	}
}

// asTyped returns a value as a one-line field of a form sends it: without line breaks. It also
// removes the blanks around the value, which are not meant.
func asTyped(value string) string {
	return strings.TrimSpace(strings.NewReplacer("\r", "", "\n", "").Replace(value))
}

// MaxNote is the length of the longest note, in code points.
const MaxNote = 25

// checkNote refuses a note that the API would cut.
func checkNote(item map[string]any) error {
	note, _ := item["note"].(string)
	if n := utf8.RuneCountInString(note); n > MaxNote {
		return &calls.RefusedError{Status: http.StatusBadRequest, Text: fmt.Sprintf(
			"The note has %d characters, and at most %d are kept: shorten it", n, MaxNote,
		)}
	}
	return nil
}

// changedFields returns the fields of an edit whose value differs from the value that the form
// showed.
func changedFields(form url.Values) map[string]any {
	item := make(map[string]any)
	changed := func(name string) (value string, ok bool) {
		value = strings.TrimSpace(form.Get(name))
		return value, asTyped(value) != asTyped(form.Get(name+before))
	}
	for _, name := range []string{"long_url", "custom_hash", "note"} {
		if value, ok := changed(name); ok {
			item[name] = value
		}
	}
	if value, ok := item["long_url"].(string); ok {
		item["long_url"] = WithScheme(value)
	}
	for _, s := range settingsOf(contract.Settings{}) {
		if value, ok := changed(s.Name); ok {
			item[s.Name] = s.value(value)
		}
	}
	labels := tagChanges(
		tags.Labels(form.Get("tags"+before), ","), tags.Labels(form.Get("tags"), ","),
	)
	if len(labels) > 0 {
		item["tags"] = labels
	}
	return item
}

// isFlag reports whether a field is a flag.
func isFlag(name string) bool {
	return slices.Contains(
		settingsOf(contract.Settings{}), setting{Name: name, Kind: flag},
	)
}

// withoutScheme matches an address that begins with the name of a host.
var withoutScheme = regexp.MustCompile(
	`^[\pL\pN_-]+(\.[\pL\pN_-]+)*\.\pL[\pL\pN-]+\.?(:[0-9]{1,5})?([/?#]\S*)?$`,
)

// WithScheme returns an address with https:// before it, if it begins with the name of a host.
func WithScheme(address string) string {
	if withoutScheme.MatchString(address) {
		return "https://" + address
	}
	return address
}

// tagChanges returns the instructions that turn the labels former into the labels after: -label
// removes a tag, and +label adds one.
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
