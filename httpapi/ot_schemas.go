package httpapi

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// described are the schemas of the description, compiled when they are first asked for.
var described = sync.OnceValues(func() (*jsonschema.Compiler, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(descriptionSource()))
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

// schemaAt returns the schema that a pointer into the description leads to.
func schemaAt(t testing.TB, pointer string) *jsonschema.Schema {
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

// schemaOf returns the schema of a name.
func schemaOf(t testing.TB, name string) *jsonschema.Schema {
	t.Helper()
	return schemaAt(t, "/components/schemas/"+name)
}

// parameterPointers leads to the schemas of the parameters of each operation under /v3, in the order of operationDoc.
var parameterPointers = sync.OnceValues(func() (map[string][]string, error) {
	type described struct{ Parameters []parameterDoc }
	var doc struct {
		Paths map[string]struct {
			described
			Get, Post, Patch, Delete described
		}
	}
	if err := json.Unmarshal(descriptionSource(), &doc); err != nil {
		return nil, err
	}
	pointers := make(map[string][]string)
	for path, item := range doc.Paths {
		at := "/paths/" + strings.ReplaceAll(path, "/", "~1")
		for method, operation := range map[string]described{"/get": item.Get, "/post": item.Post, "/patch": item.Patch, "/delete": item.Delete} {
			name := strings.ToUpper(method[1:]) + " " + apiRoot + path
			for _, source := range []struct {
				at         string
				parameters []parameterDoc
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
func routePattern(path string) string { return strings.NewReplacer("{", ":", "}", "").Replace(path) }

// operations are what the description says is served, by method and route.
var operations = sync.OnceValues(func() (map[string]operationDoc, error) {
	var doc openAPI
	if err := json.Unmarshal(descriptionSource(), &doc); err != nil {
		return nil, err
	}
	all, err := doc.operations()
	byRoute := make(map[string]operationDoc, len(all))
	for _, operation := range all {
		byRoute[operation.Method+" "+routePattern(operation.Path)] = operation
	}
	return byRoute, err
})

// valid returns why a body is not what the schema of a name allows.
func valid(t testing.TB, name, body string) error {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return schemaOf(t, name).Validate(value)
}
