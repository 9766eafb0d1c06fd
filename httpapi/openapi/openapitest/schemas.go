// Package openapitest compares the requests and responses of tests with the description of the API.
// It is for tests only.
package openapitest

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"linkledger/httpapi/openapi"
)

// compiler returns a compiler of the description's schemas.
var compiler = sync.OnceValues(func() (*jsonschema.Compiler, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(openapi.Source()))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	return compiler, compiler.AddResource("openapi.json", document)
})

var (
	schemasMu sync.Mutex
	schemas   = make(map[string]*jsonschema.Schema) // by JSON pointer into the description
)

// Schema returns the schema at a JSON pointer into the description.
func Schema(t testing.TB, pointer string) *jsonschema.Schema {
	t.Helper()
	schemasMu.Lock()
	defer schemasMu.Unlock()
	if schema, ok := schemas[pointer]; ok {
		return schema
	}
	compiler, err := compiler()
	if err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("openapi.json#" + pointer)
	if err != nil {
		t.Fatal(err)
	}
	schemas[pointer] = schema
	return schema
}

// SchemaOf returns the named schema of the description's components.
func SchemaOf(t testing.TB, name string) *jsonschema.Schema {
	t.Helper()
	return Schema(t, "/components/schemas/"+name)
}

// ParameterPointers returns JSON pointers to the schemas of the parameters of each operation under
// Root, by method and path, in the order of Operation.Parameters.
var ParameterPointers = sync.OnceValues(func() (map[string][]string, error) {
	type described struct{ Parameters []openapi.Parameter }
	var doc struct {
		Paths map[string]struct {
			described
			Get, Post, Put, Patch, Delete described
		}
	}
	if err := json.Unmarshal(openapi.Source(), &doc); err != nil {
		return nil, err
	}
	pointers := make(map[string][]string)
	for path, item := range doc.Paths {
		at := "/paths/" + strings.ReplaceAll(path, "/", "~1")
		for method, operation := range map[string]described{
			"/get": item.Get, "/post": item.Post, "/put": item.Put, "/patch": item.Patch,
			"/delete": item.Delete,
		} {
			name := strings.ToUpper(method[1:]) + " " + openapi.Root + path
			for _, source := range []struct {
				at         string
				parameters []openapi.Parameter
			}{{at, item.Parameters}, {at + method, operation.Parameters}} {
				for i, p := range source.parameters {
					pointer := strings.TrimPrefix(p.Ref, "#")
					if p.Ref == "" {
						pointer = source.at + "/parameters/" + strconv.Itoa(i)
					}
					pointers[name] = append(pointers[name], pointer+"/schema")
				}
			}
		}
	}
	return pointers, nil
})

// routePattern returns the router's pattern for a path of the description.
func routePattern(path string) string {
	return strings.NewReplacer("{", ":", "}", "").Replace(path)
}

// Operations returns the operations of the description, by method and route.
var Operations = sync.OnceValues(func() (map[string]openapi.Operation, error) {
	var doc openapi.Document
	if err := json.Unmarshal(openapi.Source(), &doc); err != nil {
		return nil, err
	}
	all, err := doc.Operations()
	byRoute := make(map[string]openapi.Operation, len(all))
	for _, operation := range all {
		byRoute[operation.Method+" "+routePattern(operation.Path)] = operation
	}
	return byRoute, err
})

// Validate returns an error if a body does not match the named schema.
func Validate(t testing.TB, name, body string) error {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return SchemaOf(t, name).Validate(value)
}
