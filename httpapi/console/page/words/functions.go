package words

// This file has the functions of templates that make text of values.

import (
	"encoding/json"
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"

	"linkledger/httpapi/contract"
)

// Functions are the functions that templates of pages call.
var Functions = template.FuncMap{
	"number": number, "moment": moment, "join": strings.Join, "value": value, "local": local,
	"field": Field, "scope": Scope, "scopes": scopeWords, "way": way, "duration": Duration,
	"cut": cut, "who": Who, "knownBy": KnownBy,
	"share": func(n, of int64) int64 { return 100 * n / max(1, of) },
	"name": func(eventType string) string {
		name, _, _ := strings.Cut(strings.TrimPrefix(eventType, "url."), ".v")
		return strings.NewReplacer("_", " ", ".", " ").Replace(name)
	},
}

// Number returns a number with its digits in groups of three.
func Number(n int64) string {
	digits := strconv.FormatInt(n, 10)
	var text strings.Builder
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 && digits[i-1] != '-' {
			text.WriteRune('\u202f') // a narrow space that does not break
		}
		text.WriteRune(digit)
	}
	return text.String()
}

// NumberElement returns a number as an element that the script shows in the reader's format.
func NumberElement(n int64) template.HTML {
	//nolint:gosec // digits
	return template.HTML(fmt.Sprintf(`<data value="%d">%s</data>`, n, Number(n)))
}

// number is NumberElement for an int64 or a *int64. A nil pointer is a number that the reader may
// not see. It becomes a dash.
func number(n any) template.HTML {
	switch n := n.(type) {
	case int64:
		return NumberElement(n)
	case *int64:
		if n != nil {
			return NumberElement(*n)
		}
	}
	return "–"
}

// stamp is a time: Text for people, and Exact for programs.
type stamp struct{ Text, Exact string }

// moment returns the stamp of a time, which is empty if the time is nil or zero.
func moment(at any) stamp {
	var moment time.Time
	switch at := at.(type) {
	case time.Time:
		moment = at
	case *time.Time:
		if at != nil {
			moment = *at
		}
	case contract.Timestamp:
		moment = at.Time
	case *contract.Timestamp:
		if at != nil {
			moment = at.Time
		}
	}
	if moment.IsZero() {
		return stamp{}
	}
	moment = moment.UTC()
	return stamp{moment.Format("2 Jan 2006, 15:04") + " UTC", moment.Format(time.RFC3339Nano)}
}

// local returns an RFC 3339 time as inputs for times in forms take it, in UTC. It returns "" if the
// text is no such time.
func local(text string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return ""
	}
	return at.UTC().Format("2006-01-02T15:04:05")
}

// value returns a value of a changed field, in JSON, as a text for people.
func value(raw json.RawMessage) string {
	var decoded any
	if err := json.Unmarshal(raw, &decoded); err != nil {
		return "none"
	}
	switch decoded := decoded.(type) {
	case nil:
		return "none"
	case string:
		if decoded == "" {
			return "empty"
		}
		return decoded
	case bool:
		if decoded {
			return "yes"
		}
		return "no"
	case []any:
		if len(decoded) == 0 {
			return "none"
		}
		words := make([]string, len(decoded))
		for i, item := range decoded {
			words[i], _ = item.(string)
		}
		return strings.Join(words, ", ")
	case map[string]any: // of a newer version
		return "something"
	}
	return string(raw)
}
