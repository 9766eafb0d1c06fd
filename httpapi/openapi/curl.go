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

// ExampleURL is the path and the parameters of the call that the page shows.
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

// ExampleBody is the JSON body of the call that the page shows; empty: none.
func (o Operation) ExampleBody() string {
	if examples := o.RequestBody.Content[mediaJSON].Examples; len(examples) > 0 {
		return indented(examples[0].Value.Value)
	}
	return ""
}

// FormField is a name of a form with its value.
type FormField struct{ Name, Value string }

// ExampleForm are the names and values of a form that makes the same kind of call; empty: none. A
// form that edits has the names of the JSON body.
func (o Operation) ExampleForm() []FormField {
	examples := o.RequestBody.Content[mediaForm].Examples
	if o.Method == http.MethodPatch {
		examples = o.RequestBody.Content[mediaJSON].Examples
	}
	if len(examples) == 0 {
		return nil
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(examples[0].Value.Value))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil { // which the description is not
		return nil
	}
	return bracketed("", value)
}

// bracketed writes a value as the fields of a form.
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

// Curl is the call that the page shows as a command.
func (o Operation) Curl() string {
	command, body := o.curl(), o.ExampleBody()
	// which curl would not choose
	if o.Method != http.MethodGet && (o.Method != http.MethodPost || body == "") {
		command += " \\\n  -X " + o.Method
	}
	if body != "" {
		command += " \\\n  -H 'Content-Type: application/json' \\\n  -d " + quoted(body)
	}
	return command
}

// CurlForm is a call with a form as a command; empty: none.
func (o Operation) CurlForm() string {
	fields := o.ExampleForm()
	if fields == nil {
		return ""
	}
	command := o.curl()
	if o.Method != http.MethodPost {
		command += " \\\n  -H " + quoted(request.HeaderMethod+": "+o.Method)
	}
	var commandSb114 strings.Builder
	for _, field := range fields {
		commandSb114.WriteString(" \\\n  --data-urlencode " + quoted(field.Name+"="+field.Value))
	}
	command += commandSb114.String()
	return command
}

// curl begins a command.
func (o Operation) curl() string {
	command := "curl"
	if o.Security == nil {
		command += ` -u "$ACCOUNT:$API_KEY"`
	}
	return command + ` "$SERVICE` + o.ExampleURL() + `"`
}

// quoted makes a text one word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// indented writes JSON for people.
func indented(source json.RawMessage) string {
	var text bytes.Buffer
	if err := json.Indent(&text, source, "", "  "); err != nil { // which the description is not
		return string(source)
	}
	return text.String()
}

// plain writes JSON as a parameter has it: a text without quotes.
func plain(source json.RawMessage) string {
	var text string
	if err := json.Unmarshal(source, &text); err != nil { // another value
		return indented(source)
	}
	return text
}

// anchor is where a section of the page is. The names of schemas are anchors too.
func anchor(section string) string { return "section-" + strings.ReplaceAll(section, " ", "-") }
