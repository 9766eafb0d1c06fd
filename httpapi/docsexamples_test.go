package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// theDescription returns the description as the page has it.
func theDescription(t testing.TB) openAPI {
	t.Helper()
	var doc openAPI
	if err := json.Unmarshal(description, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// All examples of the description are what their schemas allow.
func TestExamplesAreValid(t *testing.T) {
	t.Parallel()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(description))
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
			if err := schemaAt(t, pointer+"/schema").Validate(value); err != nil || !ok {
				t.Errorf("example %s of %s: %v", name, pointer, err)
			}
		}
	})
	if checked < 80 {
		t.Errorf("%d examples were checked", checked)
	}
}

// eachObject visits all objects of a document with the pointers that lead to them.
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

// at follows a reference whose names need no escapes.
func at(document any, ref string) map[string]any {
	for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		document = document.(map[string]any)[name]
	}
	return document.(map[string]any)
}

func TestEveryOperationHasExamples(t *testing.T) {
	t.Parallel()
	known, err := operations()
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
			t.Errorf("%s has no answer", route)
		}
		for mediaType, media := range done.Content {
			if len(media.Examples) == 0 {
				t.Errorf("%s has no example of an answer of %s", route, mediaType)
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
		if (operation.ExampleForm() != nil) != (operation.Body != "") { // a form that edits is a POST
			t.Errorf("%s has a body of %q and the form %v", route, operation.Body, operation.ExampleForm())
		}
	}
}

func TestEveryCodeHasAnExample(t *testing.T) {
	t.Parallel()
	failures := theDescription(t).failures()
	equal(t, "failures", len(failures), len(answers)-1) // all but success
	for known, answer := range answers {
		if known == codeOK {
			continue
		}
		example := failures.get(fmt.Sprint(known))
		var value envelope
		if err := json.Unmarshal(example.Value, &value); err != nil {
			t.Errorf("code %d: %v", known, err)
			continue
		}
		status := fmt.Sprintf("Status %d. ", answer.status)
		if value.Error.Code != known || value.Error.Message != answer.message || !strings.HasPrefix(example.Summary, status) {
			t.Errorf("example %+v of code %d with the summary %q", value, known, example.Summary)
		}
	}
}

// The sections are those of the contract in its order, and then those that it does not have.
func TestSectionsAreInOrder(t *testing.T) {
	t.Parallel()
	sections, err := theDescription(t).sections()
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, section := range sections {
		order = append(order, section.Name)
		if len(section.Operations) == 0 || section.Description == "" {
			t.Errorf("section %q is empty", section.Name)
		}
		for _, operation := range section.Operations {
			if !slices.Equal(operation.Tags, []string{section.Name}) {
				t.Errorf("%s is in the sections %v", operation.OperationID, operation.Tags)
			}
		}
	}
	equal(t, "sections", strings.Join(order, ", "), "Account, URLs, Stats, Tags, Domains, History, Short links, Description")
}

// Every call that the description shows is one that the service carries out, as JSON and as a form.
func TestExamplesAreCarriedOut(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(t, "alice")
	all, err := theDescription(t).operations()
	if err != nil {
		t.Fatal(err)
	}
	create := all[slices.IndexFunc(all, func(o operationDoc) bool { return o.OperationID == "createURLs" })]
	for _, operation := range all {
		path := operation.ExampleURL()
		if operation.Security != nil {
			continue // short links and documents
		}
		if operation.OperationID == "createURLs" {
			c.call("DELETE", "/v3/urls?hashes=spring-sale,autumn-sale", "")
		} else { // what it is about may be gone
			c.call("POST", create.ExampleURL(), create.ExampleBody())
			c.call("POST", "/v3/tags", `{"label":"news"}`)
		}
		if operation.OperationID == "undoBatch" {
			edited := c.must("PATCH", "/v3/urls/spring-sale", `{"urls":[{"note":"x"}]}`)
			path = strings.ReplaceAll(path, pathExample(operation), edited.header.Get(headerBatchID))
		}
		c.must(operation.Method, path, operation.ExampleBody())
		if operation.ExampleForm() == nil {
			continue
		}
		override := header(headerMethod, operation.Method)
		form := make(url.Values)
		for _, field := range operation.ExampleForm() {
			form.Add(field.Name, field.Value)
		}
		if operation.OperationID == "createURLs" {
			c.must("DELETE", "/v3/urls/spring-sale", "")
		}
		if operation.OperationID == "renameTag" {
			c.must("PATCH", "/v3/tags/Newsletter", `{"label":"news"}`)
		}
		c.must("POST", path, form.Encode(), header("Content-Type", mediaForm), override)
	}
}

func pathExample(operation operationDoc) string {
	i := slices.IndexFunc(operation.Parameters, func(p parameterDoc) bool { return p.In == "path" })
	return fmt.Sprint(operation.Parameters[i].Example)
}

// Short links lie at the root of the host, not under that of the API.
func TestShortLinksHaveAServerOfTheirOwn(t *testing.T) {
	t.Parallel()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(description))
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
