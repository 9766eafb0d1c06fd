package httpapi

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/uptrace/bunrouter"
)

// description is the OpenAPI description of all that is served.
//
//go:embed openapi.json
var description []byte

//go:embed docs.html
var docsPage string

// apiRoot is where the paths of the description lie, but for those that say otherwise.
const apiRoot = "/v3"

// descriptionPath is where the description is served, to the pages of every origin.
const descriptionPath = apiRoot + "/openapi.json"

// readDescription serves the description as it is.
func readDescription(w http.ResponseWriter, _ bunrouter.Request) error {
	return writeDocument(w, "application/json; charset=utf-8", description)
}

// readDocs returns what serves the description as a page.
func readDocs() (bunrouter.HandlerFunc, error) {
	page, err := renderDocs(description)
	if err != nil {
		return nil, fmt.Errorf("page of the API's description: %w", err)
	}
	return func(w http.ResponseWriter, _ bunrouter.Request) error {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		return writeDocument(w, "text/html; charset=utf-8", page)
	}, nil
}

func writeDocument(w http.ResponseWriter, contentType string, document []byte) error {
	header := w.Header()
	header.Set("Cache-Control", "public, max-age=300")
	header.Set("Content-Type", contentType)
	header.Set("Content-Length", strconv.Itoa(len(document)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(document) // who is gone needs no documents
	return nil
}

// openAPI is the part of a description that the page shows.
type openAPI struct {
	Info struct{ Title, Version, Description string }
	// Paths has operations by method, and the parameters that they share.
	Paths      map[string]map[string]json.RawMessage
	Components struct {
		Parameters map[string]parameterDoc
		Schemas    map[string]schemaDoc
	}
}

type parameterDoc struct {
	Ref                   string `json:"$ref"`
	Name, In, Description string
}

type schemaDoc struct {
	Ref         string `json:"$ref"`
	Type        any    // a name or several
	Description string
	Properties  map[string]schemaDoc
	Items       *schemaDoc
	AnyOf       []schemaDoc
}

type contentDoc struct {
	Content map[string]struct{ Schema schemaDoc }
}

type operationDoc struct {
	Summary     string
	Parameters  []parameterDoc
	RequestBody contentDoc
	Responses   map[string]contentDoc

	Method, Path, Body, Answer string `json:"-"`
}

type schemaView struct {
	Name, Description string
	Fields            []fieldView
}

type fieldView struct {
	Name, Type, Description string
}

func renderDocs(source []byte) ([]byte, error) {
	var doc openAPI
	if err := json.Unmarshal(source, &doc); err != nil {
		return nil, err
	}
	operations, err := doc.operations()
	if err != nil {
		return nil, err
	}
	page, err := template.New("docs").Parse(docsPage)
	if err != nil {
		return nil, err
	}
	var rendered bytes.Buffer
	err = page.Execute(&rendered, map[string]any{"Info": doc.Info, "Operations": operations, "Schemas": doc.schemas()})
	return rendered.Bytes(), err
}

// methods is the order of the operations of one path.
var methods = []string{"get", "post", "patch", "delete"}

func (doc openAPI) operations() ([]operationDoc, error) {
	var all []operationDoc
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		var shared []parameterDoc
		if raw, ok := doc.Paths[path]["parameters"]; ok {
			if err := json.Unmarshal(raw, &shared); err != nil {
				return nil, fmt.Errorf("parameters of %s: %w", path, err)
			}
		}
		base := apiRoot
		if _, elsewhere := doc.Paths[path]["servers"]; elsewhere {
			base = "" // short links
		}
		for _, method := range methods {
			raw, ok := doc.Paths[path][method]
			if !ok {
				continue
			}
			var operation operationDoc
			if err := json.Unmarshal(raw, &operation); err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, path, err)
			}
			operation.Method, operation.Path = strings.ToUpper(method), base+path
			operation.Parameters = append(shared[:len(shared):len(shared)], operation.Parameters...)
			for i, p := range operation.Parameters {
				if p.Ref != "" {
					operation.Parameters[i] = doc.Components.Parameters[refName(p.Ref)]
				}
			}
			operation.Body, operation.Answer = operation.RequestBody.name(), operation.Responses["200"].name()
			all = append(all, operation)
		}
	}
	return all, nil
}

func (doc openAPI) schemas() []schemaView {
	var all []schemaView
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		schema := doc.Components.Schemas[name]
		view := schemaView{Name: name, Description: schema.Description}
		for _, field := range slices.Sorted(maps.Keys(schema.Properties)) {
			view.Fields = append(view.Fields, fieldView{field, schema.Properties[field].kind(), schema.Properties[field].Description})
		}
		all = append(all, view)
	}
	return all
}

// name returns the schema of a JSON body.
func (c contentDoc) name() string { return refName(c.Content["application/json"].Schema.Ref) }

func refName(ref string) string { return ref[strings.LastIndex(ref, "/")+1:] }

// kind names the type of a field.
func (s schemaDoc) kind() string {
	switch named := s.Type.(type) {
	case string:
		if s.Items != nil {
			return named + " of " + s.Items.kind()
		}
		return named
	case []any:
		return strings.Trim(fmt.Sprint(named), "[]")
	}
	kinds := make([]string, len(s.AnyOf))
	for i, alternative := range s.AnyOf {
		kinds[i] = alternative.kind()
	}
	return cmp.Or(refName(s.Ref), strings.Join(kinds, " or "))
}
