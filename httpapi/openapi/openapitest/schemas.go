// Package openapitest holds calls and answers of tests against the description of the API.
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

// described are the schemas of the description, compiled when they are first asked for.
var described = sync.OnceValues(func() (*jsonschema.Compiler, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(openapi.Source()))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	return compiler, compiler.AddResource("openapi.json", document)
})

var (
	schemasMu sync.Mutex
	schemas   = make(map[string]*jsonschema.Schema) // by pointer into the description
)

// Schema returns the schema that a pointer into the description leads to.
func Schema(t testing.TB, pointer string) *jsonschema.Schema {
	t.Helper()
	schemasMu.Lock()
	defer schemasMu.Unlock()
	if schema, ok := schemas[pointer]; ok {
		return schema
	}
	compiler, err := described()
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

// SchemaOf returns the schema of a name.
func SchemaOf(t testing.TB, name string) *jsonschema.Schema {
	t.Helper()
	return Schema(t, "/components/schemas/"+name)
}

// ParameterPointers leads to the schemas of the parameters of each operation under /v3, in the
// order of Operation.
var ParameterPointers = sync.OnceValues(func() (map[string][]string, error) {
	type described struct{ Parameters []openapi.Parameter }
	var doc struct {
		Paths map[string]struct {
			described
			Get, Post, Patch, Delete described
		}
	}
	if err := json.Unmarshal(openapi.Source(), &doc); err != nil {
		return nil, err
	}
	pointers := make(map[string][]string)
	for path, item := range doc.Paths {
		at := "/paths/" + strings.ReplaceAll(path, "/", "~1")
		for method, operation := range map[string]described{
			"/get": item.Get, "/post": item.Post, "/patch": item.Patch, "/delete": item.Delete,
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

// routePattern writes a path of the description as the router does.
func routePattern(
	path string,
) string {
	return strings.NewReplacer("{", ":", "}", "").Replace(path)
}

// Operations are what the description says is served, by method and route.
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

// Valid returns why a body is not what the schema of a name allows.
func Valid(t testing.TB, name, body string) error {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return SchemaOf(t, name).Validate(value)
}
