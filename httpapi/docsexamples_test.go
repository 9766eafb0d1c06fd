package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/openapi"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
)

// TestExamplesAreCarriedOut checks that every call in the description succeeds, as JSON and as a
// form.
func TestExamplesAreCarriedOut(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	c := s.Client(t, "alice")
	browser, person := s.Member(t, s.Client(t, "bob"), "grace", "viewer")
	c.Must("PUT", "/v3/members", `{"id":"`+person+`","role":"editor"}`)
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
			browser.Must(operation.Method, path, body)
			continue
		}
		if operation.Security != nil {
			continue // short links and documents
		}
		if operation.OperationID == "createURLs" {
			c.Call("DELETE", "/v3/urls?hashes=spring-sale,autumn-sale", "")
		} else { // an earlier call may have deleted its URL or tag
			c.Call("POST", create.ExampleURL(), create.ExampleBody())
			c.Call("POST", "/v3/tags", `{"label":"news"}`)
		}
		if operation.OperationID == "undoBatch" {
			edited := c.Must("PATCH", "/v3/urls/spring-sale", `{"urls":[{"note":"x"}]}`)
			path = strings.ReplaceAll(path, pathExample(operation), edited.Header.Get(response.HeaderBatchID))
		}
		if operation.OperationID == "changeKey" || operation.OperationID == "revokeKey" || operation.OperationID == "undoKey" {
			added := c.Must("POST", "/v3/keys", "{}").Keys[0]
			path = strings.ReplaceAll(path, pathExample(operation), added.ID)
			user := *c
			user.Key = added.Key
			user.Call("POST", "/v3/urls", httpapitest.Batch(1))
		}
		if strings.Contains(operation.Path, "/webhooks/{id}") {
			added := c.Must("POST", "/v3/webhooks", `{"url":"http://127.0.0.1:1/hook"}`).Webhooks[0]
			path = strings.ReplaceAll(path, pathExample(operation), added.ID)
		}
		if operation.OperationID == "setMember" {
			body = withPerson(body, person)
		}
		if operation.OperationID == "removeMember" {
			path = withPerson(path, person)
		}
		if operation.OperationID == "endSession" {
			started := c.Must("POST", "/v3/sessions", "").Sessions[0]
			path = strings.ReplaceAll(path, pathExample(operation), started.ID)
		}
		c.Must(operation.Method, path, body)
		if operation.ExampleForm() == nil {
			continue
		}
		override := httpapitest.Header(request.HeaderMethod, operation.Method)
		form := make(url.Values)
		for _, field := range operation.ExampleForm() {
			form.Add(field.Name, withPerson(field.Value, person))
		}
		if operation.OperationID == "createURLs" {
			c.Must("DELETE", "/v3/urls/spring-sale", "")
		}
		if operation.OperationID == "renameTag" {
			c.Must("PATCH", "/v3/tags/Newsletter", `{"label":"news"}`)
		}
		c.Must("POST", path, form.Encode(), httpapitest.Header("Content-Type", httpapitest.FormType), override)
	}
}

// withPerson replaces the id of the person in the examples.
func withPerson(example, id string) string {
	return strings.ReplaceAll(example, "019a8e10-5c1d-7b0e-9f7e-2d1c0a4b6e11", id)
}

func pathExample(operation openapi.Operation) string {
	i := slices.IndexFunc(operation.Parameters, func(p openapi.Parameter) bool { return p.In == "path" })
	return fmt.Sprint(operation.Parameters[i].Example)
}
