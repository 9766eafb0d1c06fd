package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"linkledger/httpapi/request"
)

// ExampleURL returns the path and the query string of the example call.
func (o Operation) ExampleURL() string {
	path, query := o.Path, url.Values{}
	for _, p := range o.Parameters {
		switch {
		case p.Example == nil:
		case p.In == "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(fmt.Sprint(p.Example)))
		case p.In == "query":
			query.Set(p.Name, fmt.Sprint(p.Example))
		}
	}
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// ExampleBody returns the JSON body of the example call, or an empty string if it has none.
func (o Operation) ExampleBody() string {
	if examples := o.RequestBody.Content[mediaJSON].Examples; len(examples) > 0 {
		return indented(examples[0].Value.Value)
	}
	return ""
}

// FormField is a field of a form.
type FormField struct{ Name, Value string }

// ExampleForm returns the fields of an example call with a form, or nil if the operation takes no
// form. The form of an edit is made from the JSON body, whose names it shares.
func (o Operation) ExampleForm() []FormField {
	examples := o.RequestBody.Content[mediaForm].Examples
	if o.Method == http.MethodPatch || o.Method == http.MethodPut {
		examples = o.RequestBody.Content[mediaJSON].Examples
	}
	if len(examples) == 0 {
		return nil
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(examples[0].Value.Value))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil { // impossible: the description was decoded
		return nil
	}
	return bracketed("", value)
}

// bracketed returns a JSON value as the fields of a form. name is the key of the value, or empty.
func bracketed(name string, value any) []FormField {
	var fields []FormField
	inner := func(key string) string {
		if name == "" {
			return key
		}
		return name + "[" + key + "]"
	}
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			fields = append(fields, bracketed(inner(key), value[key])...)
		}
	case []any:
		for i, item := range value {
			fields = append(fields, bracketed(inner(strconv.Itoa(i)), item)...)
		}
	case nil:
		fields = append(fields, FormField{Name: name})
	default:
		fields = append(fields, FormField{name, fmt.Sprint(value)})
	}
	return fields
}

// Curl returns the example call as a command.
func (o Operation) Curl() string {
	command, body := o.curl(), o.ExampleBody()
	// curl chooses GET, or POST if there is a body.
	if o.Method != http.MethodGet && (o.Method != http.MethodPost || body == "") {
		command += " \\\n  -X " + o.Method
	}
	if body != "" {
		command += " \\\n  -H 'Content-Type: application/json' \\\n  -d " + quoted(body)
	}
	return command
}

// CurlForm returns the example call with a form as a command, or an empty string if the operation
// takes no form.
func (o Operation) CurlForm() string {
	fields := o.ExampleForm()
	if fields == nil {
		return ""
	}
	var command strings.Builder
	command.WriteString(o.curl())
	if o.Method != http.MethodPost {
		command.WriteString(" \\\n  -H " + quoted(request.HeaderMethod+": "+o.Method))
	}
	for _, field := range fields {
		command.WriteString(" \\\n  --data-urlencode " + quoted(field.Name+"="+field.Value))
	}
	return command.String()
}

// curl returns the beginning of a command: credentials and URL.
func (o Operation) curl() string {
	command := "curl"
	switch {
	case o.Security == nil:
		command += ` -u "$ACCOUNT:$API_KEY"`
	case o.NeedsSession():
		command += ` -b "linkledger=$SESSION"`
	}
	return command + ` "$SERVICE` + o.ExampleURL() + `"`
}

// quoted quotes a text for a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// indented returns JSON with indentation.
func indented(source json.RawMessage) string {
	var text bytes.Buffer
	// An error is impossible: the description was decoded.
	if err := json.Indent(&text, source, "", "  "); err != nil {
		return string(source)
	}
	return text.String()
}

// plain returns JSON as the value of a parameter. A string loses its quotes.
func plain(source json.RawMessage) string {
	var text string
	if err := json.Unmarshal(source, &text); err != nil { // not a string
		return indented(source)
	}
	return text
}

// anchor returns the anchor of a section. The prefix keeps it distinct from the names of schemas,
// which are anchors too.
func anchor(section string) string { return "section-" + strings.ReplaceAll(section, " ", "-") }
