package openapi_test

import (
	"bytes"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"linkledger/httpapi/openapi"
	"linkledger/httpapi/openapi/openapitest"
)

// TestExamplesAreValid checks that all examples of the description match their schemas.
func TestExamplesAreValid(t *testing.T) {
	t.Parallel()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(openapi.Source()))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	eachObject("", document, func(pointer string, object map[string]any) {
		if object["schema"] == nil {
			return
		}
		examples := map[string]any{}
		if example, ok := object["example"]; ok {
			examples["example"] = map[string]any{"value": example}
		}
		if several, ok := object["examples"].(map[string]any); ok {
			maps.Copy(examples, several)
		}
		for name, example := range examples {
			example := example.(map[string]any)
			if ref, ok := example["$ref"].(string); ok {
				example = at(document, ref)
			}
			value, ok := example["value"]
			if !ok && example["externalValue"] != nil {
				continue // an image
			}
			checked++
			if err := openapitest.Schema(t, pointer+"/schema").Validate(value); err != nil || !ok {
				t.Errorf("example %s of %s: %v", name, pointer, err)
			}
		}
	})
	if checked < 80 {
		t.Errorf("only %d examples were checked", checked)
	}
}

// eachObject visits all objects of a document with their JSON pointers.
func eachObject(pointer string, value any, visit func(pointer string, object map[string]any)) {
	switch value := value.(type) {
	case map[string]any:
		visit(pointer, value)
		for name, inner := range value {
			eachObject(pointer+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name), inner, visit)
		}
	case []any:
		for i, inner := range value {
			eachObject(fmt.Sprint(pointer, "/", i), inner, visit)
		}
	}
}

// at resolves a reference whose names need no escapes.
func at(document any, ref string) map[string]any {
	for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		document = document.(map[string]any)[name]
	}
	return document.(map[string]any)
}

func TestEveryOperationHasExamples(t *testing.T) {
	t.Parallel()
	known, err := openapitest.Operations()
	if err != nil {
		t.Fatal(err)
	}
	for route, operation := range known {
		for mediaType, media := range operation.RequestBody.Content {
			if len(media.Examples) == 0 {
				t.Errorf("%s has no example of a body of %s", route, mediaType)
			}
		}
		done := operation.Responses["200"]
		if operation.OperationID == "redirect" {
			done = operation.Responses["302"]
		}
		if len(done.Content)+len(done.Headers) == 0 {
			t.Errorf("%s has no response", route)
		}
		for mediaType, media := range done.Content {
			if len(media.Examples) == 0 {
				t.Errorf("%s has no example of a response of type %s", route, mediaType)
			}
		}
		for name, header := range done.Headers {
			if header.Example == nil {
				t.Errorf("%s has no example of the header %s", route, name)
			}
		}
		if strings.Contains(operation.ExampleURL(), "{") {
			t.Errorf("%s has no example of its path: %s", route, operation.ExampleURL())
		}
		if (operation.ExampleForm() != nil) != (operation.Body != "") { // edits as forms are sent with POST
			t.Errorf("%s has a body of %q and the form %v", route, operation.Body, operation.ExampleForm())
		}
	}
}

// TestShortLinksHaveAServerOfTheirOwn checks that short links are described at the root of the
// host, not under the path of the API.
func TestShortLinksHaveAServerOfTheirOwn(t *testing.T) {
	t.Parallel()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(openapi.Source()))
	if err != nil {
		t.Fatal(err)
	}
	for path, item := range at(document, "#/paths") {
		servers, elsewhere := item.(map[string]any)["servers"].([]any)
		if elsewhere != strings.HasPrefix(path, "/{hash}") || elsewhere && servers[0].(map[string]any)["url"] != "/" {
			t.Errorf("%s is served at %v", path, servers)
		}
	}
}
