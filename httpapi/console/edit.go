package console

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"linkledger/httpapi/console/page"
)

// before is added to the name of a field for what the form showed. Only what differs from it is
// sent, so that a form that was open for long takes back nothing that was changed meanwhile.
const before = "_before"

// flags are the fields of a link that are set or not.
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

// Fields returns the names of the fields of the form. The hash has a form of its own, because to
// change it ends the short link. Flags that have no effect are in none.
func (linkData) Fields() []string {
	return []string{
		"long_url", "note", "tags", "max_clicks", "expiration_date", "protected", "archived",
	}
}

// edited returns the names of the fields that an edit can change.
func edited() []string { return append(linkData{}.Fields(), "custom_hash") }

// typedOver returns the fields of a link with those that were typed into one of its forms.
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

// editLink changes what differs from what the form showed. A field that others have changed since
// is not changed: the page shows what they saved, and the next save replaces it.
func (h *Handler) editLink(p *page.Page) error {
	item := changedFields(p.Form)
	if len(item) == 0 {
		return p.Finish(nil, linkPath(p), "There is nothing to save: no field was changed")
	}
	if err := checkNote(item); err != nil {
		return err
	}
	path := "/v3/urls/" + url.PathEscape(p.C.Param("hash"))
	var current linksAnswer
	if err := p.Get(path, nil, &current); err != nil {
		return err
	}
	if len(current.URLs) > 0 {
		if err := changedMeanwhile(p, &current.URLs[0], item); err != nil {
			return err
		}
	}
	edited, err := writeLink(p, http.MethodPatch, path, item)
	return p.FinishUndoable(err, edited.Path(), "Saved: "+itemWords(item))
}

// itemWords returns the names of the fields of an edit, for people.
func itemWords(item map[string]any) string {
	var words []string
	for _, name := range edited() {
		if _, ok := item[name]; ok {
			words = append(words, page.Field(name))
		}
	}
	return strings.Join(words, ", ")
}

// changedMeanwhile refuses an edit of fields whose value is no more the one that the form showed.
// The form then shows the present value beside the one that was typed.
func changedMeanwhile(p *page.Page, link *linkRecord, item map[string]any) error {
	current := editOf(link)
	meanwhile := make(map[string]string)
	var words []string
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
		if slices.Contains(flags, name) || now == "" {
			meanwhile[name] = map[bool]string{true: "nothing", false: "ticked"}[now == ""]
		}
		words = append(words, page.Field(name)+" ("+meanwhile[name]+")")
		p.Form.Set(name+before, now)
	}
	if len(meanwhile) == 0 {
		return nil
	}
	p.Told = meanwhile
	return &page.RefusedError{
		Status: http.StatusConflict,
		Text: "Nothing is saved yet. Somebody has saved meanwhile: " +
			strings.Join(words, ", ") + ". Save again to replace that by what you typed",
	}
}

// asTyped returns a value as a field of a form gives it back: such a field has no line breaks, and
// blanks around a value are not meant.
func asTyped(value string) string {
	return strings.TrimSpace(strings.NewReplacer("\r", "", "\n", "").Replace(value))
}

// maxNote is the length of the longest note, in code points.
const maxNote = 25

// checkNote refuses a note that the API would cut.
func checkNote(item map[string]any) error {
	note, _ := item["note"].(string)
	if n := utf8.RuneCountInString(note); n > maxNote {
		return &page.RefusedError{Status: http.StatusBadRequest, Text: fmt.Sprintf(
			"The note has %d characters, and at most %d are kept: shorten it", n, maxNote,
		)}
	}
	return nil
}

// changedFields returns the fields of an edit whose value differs from the one before.
func changedFields(form url.Values) map[string]any {
	item := make(map[string]any)
	changed := func(name string) (value string, ok bool) {
		value = strings.TrimSpace(form.Get(name))
		return value, asTyped(value) != asTyped(form.Get(name+before))
	}
	for _, name := range []string{"long_url", "custom_hash", "note", "expiration_date"} {
		if value, ok := changed(name); ok {
			item[name] = value
		}
	}
	if value, ok := item["long_url"].(string); ok {
		item["long_url"] = withScheme(value)
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

// withoutScheme matches an address that begins with the name of a host.
var withoutScheme = regexp.MustCompile(
	`^[\pL\pN_-]+(\.[\pL\pN_-]+)*\.\pL[\pL\pN-]+\.?(:[0-9]{1,5})?([/?#]\S*)?$`,
)

// withScheme returns a destination with https:// before the name of a host.
func withScheme(address string) string {
	if withoutScheme.MatchString(address) {
		return "https://" + address
	}
	return address
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
