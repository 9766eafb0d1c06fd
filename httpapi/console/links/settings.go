package links

// This file has the settings of a link as its page shows and edits them. They are the fields of
// contract.Settings. A new field there thus appears on the page, in its form and among the states
// in lists.

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"linkledger/httpapi/console/page/words"
	"linkledger/httpapi/contract"
)

// The kinds of settings, which are also the types of their inputs in forms.
const (
	flag   = "checkbox"
	number = "number"
	day    = "date"
)

// setting is a setting of a link.
type setting struct {
	Name string // in the API
	Kind string
	Text string // its value, as a form has it; empty: none, or a flag that is not set
}

// hidden are the settings that have no effect, and so are on no page.
var hidden = []string{"ping", "email_stats"}

// phrases explain settings whose names alone are too short for a page.
var phrases = map[string]struct{ label, hint, none, means string }{
	"max_clicks": {hint: "0: no limit", none: "no limit"},
	"protected":  {label: "Protected from deletion", means: "Protected: it cannot be deleted"},
	"archived":   {means: "Archived, and redirects as before"},
}

// settingsOf returns all settings of a link.
func settingsOf(of contract.Settings) (all []setting) {
	values := reflect.ValueOf(of)
	for i := range values.NumField() {
		name, _, _ := strings.Cut(values.Type().Field(i).Tag.Get("json"), ",")
		s := setting{Name: name}
		switch value := values.Field(i).Interface().(type) {
		case bool:
			s.Kind, s.Text = flag, map[bool]string{true: "1"}[value]
		case int64:
			s.Kind, s.Text = number, strconv.FormatInt(value, 10)
		case *string:
			s.Kind = day
			if value != nil {
				s.Text = *value
			}
		}
		all = append(all, s)
	}
	return all
}

// Values returns the settings of a link that a page shows, except its flags.
func (l link) Values() []setting {
	return slices.DeleteFunc(settingsOf(l.Settings), func(s setting) bool {
		return s.Kind == flag || slices.Contains(hidden, s.Name)
	})
}

// Flags returns the flags of a link that a page shows.
func (l link) Flags() []setting {
	return slices.DeleteFunc(settingsOf(l.Settings), func(s setting) bool {
		return s.Kind != flag || slices.Contains(hidden, s.Name)
	})
}

// Title returns the word for the setting, with a capital letter at its beginning.
func (s setting) Title() string {
	word := words.Field(s.Name)
	first, size := utf8.DecodeRuneInString(word)
	return string(unicode.ToUpper(first)) + word[size:]
}

// Label returns the label of the setting in a form.
func (s setting) Label() string {
	if label := phrases[s.Name].label; label != "" {
		return label
	}
	return s.Title()
}

// Hint returns what a form says beside the label, or "".
func (s setting) Hint() string { return phrases[s.Name].hint }

// Means returns the meaning of the flag when it is set.
func (s setting) Means() string {
	if means := phrases[s.Name].means; means != "" {
		return means
	}
	return s.Title()
}

// Shown returns the value as a page shows it.
func (s setting) Shown() any {
	switch {
	case s.Kind == flag && s.Text != "":
		return "yes"
	case s.Kind == flag:
		return "no"
	case s.Text == "" || s.Text == "0":
		if none := phrases[s.Name].none; none != "" {
			return none
		}
		return "none"
	case s.Kind == number:
		if n, err := strconv.ParseInt(s.Text, 10, 64); err == nil {
			return words.NumberElement(n)
		}
	}
	return s.Text
}

// value returns the typed text of the setting in the type that the API takes. A wrong number stays
// a text, so that the API refuses it.
func (s setting) value(typed string) any {
	switch s.Kind {
	case flag:
		return typed != ""
	case number:
		if n, err := strconv.ParseInt(typed, 10, 64); err == nil {
			return n
		}
	}
	return typed
}
