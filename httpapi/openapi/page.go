package openapi

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strings"
)

//go:embed docs.html
var docsPage string

// ordered is a JSON object that keeps the order of its names, so that the page has the order of the
// description.
type ordered[T any] []named[T]

type named[T any] struct {
	Name  string
	Value T
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *ordered[T]) UnmarshalJSON(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if _, err := decoder.Token(); err != nil { // the opening brace
		return err
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		entry := named[T]{Name: fmt.Sprint(name)}
		if err := decoder.Decode(&entry.Value); err != nil {
			return fmt.Errorf("%s: %w", entry.Name, err)
		}
		*o = append(*o, entry)
	}
	return nil
}

// get returns the value of a name, or the zero value if there is none.
func (o ordered[T]) get(name string) T {
	for _, entry := range o {
		if entry.Name == name {
			return entry.Value
		}
	}
	var none T
	return none
}

// Document is the part of a description that the page shows.
type Document struct {
	Info struct{ Title, Version, Description string }
	Tags []sectionDoc
	// Paths has the operations of each path by method, and their shared parameters.
	Paths      ordered[ordered[json.RawMessage]]
	Components struct {
		Parameters map[string]Parameter
		Responses  map[string]contentDoc
		Examples   map[string]exampleDoc
		Schemas    ordered[schemaDoc]
	}
}

type sectionDoc struct {
	Name, Description string

	Operations []Operation `json:"-"`
}

// Parameter is a parameter or a header of an operation.
type Parameter struct {
	Ref                   string `json:"$ref"`
	Name, In, Description string
	Example               any // value in the example call; nil: the call lacks the parameter
	Examples              ordered[exampleDoc]
}

type exampleDoc struct {
	Ref     string `json:"$ref"`
	Summary string
	Value   json.RawMessage
}

type schemaDoc struct {
	Ref         string `json:"$ref"`
	Type        any    // a string or a list of strings
	Description string
	Properties  ordered[schemaDoc]
	Items       *schemaDoc
	OneOf       []schemaDoc
}

type contentDoc struct {
	Description string
	Headers     map[string]Parameter
	Content     map[string]mediaDoc
}

type mediaDoc struct {
	Schema   schemaDoc
	Examples ordered[exampleDoc]
}

// Operation is an operation of the description: one method of one path.
type Operation struct {
	OperationID, Summary string
	Scope                string `json:"x-scope"` // that the key of a call needs; empty: none
	Bound                *bool  `json:"x-bound"` // whether bound keys may call; nil: they may
	Tags                 []string
	Security             *[]any // nil: the default, which needs credentials; empty: open to all
	Parameters           []Parameter
	RequestBody          contentDoc
	Responses            map[string]contentDoc

	Method, Path, Body, Answer string `json:"-"`
}

// Unbound reports whether keys that are bound to tags may not make the call.
func (o Operation) Unbound() bool { return o.Bound != nil && !*o.Bound }

// NeedsSession reports whether the call takes the session of a browser alone, and no API key.
func (o Operation) NeedsSession() bool { return o.Security != nil && len(*o.Security) > 0 }

const (
	mediaJSON = "application/json"
	mediaForm = "application/x-www-form-urlencoded"
)

// methods are the fields of a path that are operations.
var methods = []string{"get", "post", "put", "patch", "delete"}

func renderDocs(source []byte) ([]byte, error) {
	var doc Document
	if err := json.Unmarshal(source, &doc); err != nil {
		return nil, err
	}
	sections, err := doc.sections()
	if err != nil {
		return nil, err
	}
	page, err := template.New("docs").Funcs(
		template.FuncMap{"anchor": anchor, "indent": indented, "plain": plain},
	).Parse(docsPage)
	if err != nil {
		return nil, err
	}
	var rendered bytes.Buffer
	err = page.Execute(&rendered, map[string]any{
		"Info":     doc.Info,
		"Text":     strings.Split(doc.Info.Description, "\n\n"),
		"Sections": sections,
		"Failures": doc.failures(),
		"Schemas":  doc.Components.Schemas,
	})
	return rendered.Bytes(), err
}

// sections returns the operations by tag, in the order of the tags. Operations without a known tag
// are in a section "Other" at the end.
func (doc Document) sections() ([]sectionDoc, error) {
	all, err := doc.Operations()
	if err != nil {
		return nil, err
	}
	sections := slices.Clone(doc.Tags)
	other := sectionDoc{Name: "Other"}
	for _, operation := range all {
		i := slices.IndexFunc(
			sections, func(s sectionDoc) bool { return slices.Contains(operation.Tags, s.Name) },
		)
		if i < 0 {
			other.Operations = append(other.Operations, operation)
			continue
		}
		sections[i].Operations = append(sections[i].Operations, operation)
	}
	if other.Operations != nil {
		sections = append(sections, other)
	}
	return sections, nil
}

// Operations returns the operations in the order of the description.
func (doc Document) Operations() ([]Operation, error) {
	var all []Operation
	for _, path := range doc.Paths {
		var shared []Parameter
		if raw := path.Value.get("parameters"); raw != nil {
			if err := json.Unmarshal(raw, &shared); err != nil {
				return nil, fmt.Errorf("parameters of %s: %w", path.Name, err)
			}
		}
		base := Root
		if path.Value.get("servers") != nil {
			base = "" // the paths of short links
		}
		for _, part := range path.Value {
			if !slices.Contains(methods, part.Name) {
				continue
			}
			var operation Operation
			if err := json.Unmarshal(part.Value, &operation); err != nil {
				return nil, fmt.Errorf("%s %s: %w", part.Name, path.Name, err)
			}
			operation.Method, operation.Path = strings.ToUpper(part.Name), base+path.Name
			operation.Parameters = append(shared[:len(shared):len(shared)], operation.Parameters...)
			for i, p := range operation.Parameters {
				if p.Ref != "" {
					operation.Parameters[i] = doc.Components.Parameters[refName(p.Ref)]
				}
			}
			operation.Body = operation.RequestBody.name()
			operation.Answer = operation.Responses["200"].name()
			all = append(all, operation)
		}
	}
	return all, nil
}

// failures returns the examples of failures, by code.
func (doc Document) failures() ordered[exampleDoc] {
	failures := slices.Clone(doc.Components.Responses["Failure"].Content[mediaJSON].Examples)
	for i, f := range failures {
		if f.Value.Ref != "" {
			failures[i].Value = doc.Components.Examples[refName(f.Value.Ref)]
		}
	}
	return failures
}

func refName(ref string) string { return ref[strings.LastIndex(ref, "/")+1:] }

// Kind returns the name of the type of a field.
func (s schemaDoc) Kind() string {
	switch kind := s.Type.(type) {
	case string:
		if s.Items != nil {
			return kind + " of " + s.Items.Kind()
		}
		return kind
	case []any:
		names := make([]string, len(kind))
		for i := range kind {
			names[i] = fmt.Sprint(kind[i])
		}
		return strings.Join(names, " or ")
	}
	kinds := make([]string, len(s.OneOf))
	for i, alternative := range s.OneOf {
		kinds[i] = alternative.Kind()
	}
	return cmp.Or(refName(s.Ref), strings.Join(kinds, " or "))
}

// name returns the name of the schema of a JSON body.
func (c contentDoc) name() string { return refName(c.Content[mediaJSON].Schema.Ref) }
