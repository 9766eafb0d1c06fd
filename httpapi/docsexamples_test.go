package httpapi

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"linkledger/httpapi/openapi"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
)

// TestExamplesAreCarriedOut checks that every call in the description succeeds, as JSON and as a
// form.
func TestExamplesAreCarriedOut(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	c := s.client(t, "alice")
	browser, person := s.member(t, s.client(t, "bob"), "grace", "viewer")
	c.must("PUT", "/v3/members", `{"id":"`+person+`","role":"editor"}`)
	var description openapi.Document
	if err := json.Unmarshal(openapi.Source(), &description); err != nil {
		t.Fatal(err)
	}
	all, err := description.Operations()
	if err != nil {
		t.Fatal(err)
	}
	create := all[slices.IndexFunc(all, func(o openapi.Operation) bool { return o.OperationID == "createURLs" })]
	for _, operation := range all {
		path, body := operation.ExampleURL(), operation.ExampleBody()
		if operation.NeedsSession() {
			browser.must(operation.Method, path, body)
			continue
		}
		if operation.Security != nil {
			continue // short links and documents
		}
		if operation.OperationID == "createURLs" {
			c.call("DELETE", "/v3/urls?hashes=spring-sale,autumn-sale", "")
		} else { // an earlier call may have deleted its URL or tag
			c.call("POST", create.ExampleURL(), create.ExampleBody())
			c.call("POST", "/v3/tags", `{"label":"news"}`)
		}
		if operation.OperationID == "undoBatch" {
			edited := c.must("PATCH", "/v3/urls/spring-sale", `{"urls":[{"note":"x"}]}`)
			path = strings.ReplaceAll(path, pathExample(operation), edited.header.Get(response.HeaderBatchID))
		}
		if operation.OperationID == "changeKey" || operation.OperationID == "revokeKey" || operation.OperationID == "undoKey" {
			added := c.must("POST", "/v3/keys", "{}").Keys[0]
			path = strings.ReplaceAll(path, pathExample(operation), added.ID)
			user := *c
			user.key = added.Key
			user.call("POST", "/v3/urls", batch(1))
		}
		if operation.OperationID == "setMember" {
			body = withPerson(body, person)
		}
		if operation.OperationID == "removeMember" {
			path = withPerson(path, person)
		}
		if operation.OperationID == "endSession" {
			started := c.must("POST", "/v3/sessions", "").Sessions[0]
			path = strings.ReplaceAll(path, pathExample(operation), started.ID)
		}
		c.must(operation.Method, path, body)
		if operation.ExampleForm() == nil {
			continue
		}
		override := header(request.HeaderMethod, operation.Method)
		form := make(url.Values)
		for _, field := range operation.ExampleForm() {
			form.Add(field.Name, withPerson(field.Value, person))
		}
		if operation.OperationID == "createURLs" {
			c.must("DELETE", "/v3/urls/spring-sale", "")
		}
		if operation.OperationID == "renameTag" {
			c.must("PATCH", "/v3/tags/Newsletter", `{"label":"news"}`)
		}
		c.must("POST", path, form.Encode(), header("Content-Type", formType), override)
	}
}

// withPerson puts the id of a person in the place of that of the examples.
func withPerson(example, id string) string {
	return strings.ReplaceAll(example, "019a8e10-5c1d-7b0e-9f7e-2d1c0a4b6e11", id)
}

func pathExample(operation openapi.Operation) string {
	i := slices.IndexFunc(operation.Parameters, func(p openapi.Parameter) bool { return p.In == "path" })
	return fmt.Sprint(operation.Parameters[i].Example)
}
