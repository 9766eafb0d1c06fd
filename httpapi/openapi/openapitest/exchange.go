package openapitest

// This file compares whole calls with the description.

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"linkledger/httpapi/decode"
	"linkledger/httpapi/openapi"
	"linkledger/httpapi/request"
)

// Exchange is a call of the API with its answer.
type Exchange struct {
	Request *http.Request
	Method  string // after X-HTTP-Method-Override, which may replace the method of the request
	Body    string // of the request
	Status  int
	Answer  string
	Refused bool // an item was refused, so the body may be invalid
}

// Check checks an answer against the description of its call. If the call succeeded, it also checks
// that the description allows the call.
func (e Exchange) Check(t testing.TB) {
	t.Helper()
	r := e.Request
	name := "Envelope"
	if e.Status == http.StatusOK && e.Method != http.MethodOptions {
		known, err := Operations()
		if err != nil {
			t.Fatal(err)
		}
		operation, ok := known[e.Method+" "+RouteOf(r.URL.EscapedPath())]
		if !ok {
			t.Fatalf("%s %s is not described", e.Method, r.URL.Path)
		}
		e.checkRequest(t, operation)
		if name = operation.Answer; name == "" {
			return // the answer is a document without an envelope
		}
	}
	if err := Validate(t, name, e.Answer); err != nil {
		t.Errorf("%s %s returned %d and no valid %s: %v\n%s", e.Method, r.URL.Path, e.Status, name, err, e.Answer)
	}
}

// checkRequest checks a successful call against the description of its operation.
func (e Exchange) checkRequest(t testing.TB, operation openapi.Operation) {
	t.Helper()
	r, body := e.Request, strings.TrimPrefix(e.Body, "\ufeff")
	query, err := decode.Query(&request.Context{Request: r})
	if err != nil {
		t.Fatal(err)
	}
	pointers, err := ParameterPointers()
	if err != nil {
		t.Fatal(err)
	}
	segments := strings.Split(r.URL.Path, "/")
	for i, p := range operation.Parameters {
		var value string
		switch p.In {
		case "path":
			value = segments[3]
		case "query":
			value = query.Get(p.Name)
		case "header":
			value = r.Header.Get(p.Name)
		}
		schema := Schema(t, pointers[operation.Method+" "+operation.Path][i])
		// An empty value counts as absent.
		if value != "" && schema.Validate(value) != nil && schema.Validate(json.Number(value)) != nil {
			t.Errorf("%s %s succeeded, but the description does not allow its value of %s", r.Method, r.URL, p.Name)
		}
	}
	if operation.Body == "" || body == "" || e.Refused || r.Header.Get("Content-Type") != "application/json" {
		return
	}
	if err := Validate(t, operation.Body, body); err != nil {
		t.Errorf("%s %s succeeded, but its body is no valid %s: %v\n%s", r.Method, r.URL, operation.Body, err, body)
	}
}

// RouteOf returns the route pattern of a path under /v3.
func RouteOf(path string) string {
	segments := strings.Split(strings.TrimSuffix(strings.TrimPrefix(path, "/"), "/"), "/")
	if len(segments) >= 3 {
		segments[2] = map[string]string{
			"tags": ":label", "batches": ":id", "keys": ":id", "members": ":id", "sessions": ":id",
			"webhooks": ":id",
		}[segments[1]]
		if segments[2] == "" {
			segments[2] = ":hash"
		}
	}
	return "/" + strings.Join(segments, "/")
}
