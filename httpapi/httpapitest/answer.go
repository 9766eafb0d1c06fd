package httpapitest

// This file decodes answers of the API and checks them.

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
)

// Deref returns a text, or an empty one for null.
func Deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// Lacks reports whether a call was refused because its key lacks a scope.
func (a *Answer) Lacks(scope string) bool {
	return a.Status == http.StatusForbidden && a.Code() == apierror.CodeAccessDenied &&
		strings.HasSuffix(a.Error.Details, "lacks the scope "+scope)
}

// Hashes returns the hashes of a response, in its order.
func (a *Answer) Hashes() string {
	hashes := make([]string, len(a.URLs))
	for i, u := range a.URLs {
		hashes[i] = u.Hash
	}
	return strings.Join(hashes, ",")
}

// Answer is a response of the server, decoded if it is JSON of the API.
type Answer struct {
	T      testing.TB
	Status int
	Header http.Header
	Body   string

	contract.Envelope
	URLs []Item         `json:"urls"`
	Page *contract.Page `json:"page"`

	Account  contract.Account        `json:"account"`
	Activity []contract.Activity     `json:"activity"`
	Changed  []contract.ChangedURL   `json:"changed"`
	Check    contract.Check          `json:"check"`
	Deleted  []contract.DeletedURL   `json:"deleted"`
	Head     contract.Head           `json:"head"`
	History  contract.History        `json:"history"`
	Keys     []contract.AccountKey   `json:"keys"`
	Members  []contract.Member       `json:"members"`
	Proof    contract.Proof          `json:"proof"`
	Session  contract.CurrentSession `json:"session"`
	Sessions []contract.Session      `json:"sessions"`
	Stats    []contract.Stats        `json:"stats"`
	Tags     []contract.Tag          `json:"tags"`
	Undo     contract.Undo           `json:"undo"`

	Webhooks    []contract.Webhook  `json:"webhooks"`
	Deliveries  []contract.Delivery `json:"deliveries"`
	Redelivered int64               `json:"redelivered"`
}

// Item is a URL or a failed item.
type Item struct {
	contract.URL

	LongURL    *string `json:"long_url"`
	CustomHash *string `json:"custom_hash"`
}

// Code returns the code of the error of an item.
func (i Item) Code() apierror.Code { return apierror.Code(i.Error.Code) }

// Wire returns a time in the format of the API.
func Wire(at contract.Timestamp) string { return at.Format("2006-01-02T15:04:05-07:00") }

// AnswerOf reads a response, which the caller closes.
func AnswerOf(t testing.TB, response *http.Response) *Answer {
	t.Helper()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := &Answer{T: t, Status: response.StatusCode, Header: response.Header, Body: string(body)}
	if strings.HasPrefix(a.Header.Get("Content-Type"), "application/json") && len(body) > 0 {
		if err := json.Unmarshal(body, a); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
	}
	return a
}

// Code returns the code of the error of a call.
func (a *Answer) Code() apierror.Code { return apierror.Code(a.Error.Code) }

// Is checks the status and the code of an envelope.
func (a *Answer) Is(status int, want apierror.Code) {
	a.T.Helper()
	if a.Status != status || a.Code() != want || a.Version != "3.1" || a.Error.Message != want.Message() {
		a.T.Fatalf("answered %d %s; want %d and code %d", a.Status, a.Body, status, want)
	}
}

// Has checks that the details of the error contain a text.
func (a *Answer) Has(details string) {
	a.T.Helper()
	if !strings.Contains(a.Error.Details, details) {
		a.T.Errorf("details are %q; want %q in them", a.Error.Details, details)
	}
}

// Failed checks the code and the details of a failed item.
func (i Item) Failed(t testing.TB, want apierror.Code, details string) {
	t.Helper()
	if i.Error == nil || i.Code() != want || i.Error.Message != want.Message() ||
		!strings.Contains(i.Error.Details, details) {
		t.Errorf("item is %+v with error %+v; want code %d and details with %q", i, i.Error, want, details)
	}
}

// Equal fails the test if two values differ.
func Equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v; want %v", what, got, want)
	}
}

// Counter returns a counter of the account.
func (a *Answer) Counter(name string) int64 { return a.Account.Counters[name].Count }

// Counters returns the counters of the account in JSON.
func (a *Answer) Counters() string {
	a.T.Helper()
	encoded, err := json.Marshal(a.Account.Counters)
	if err != nil {
		a.T.Fatal(err)
	}
	return string(encoded)
}

// refused reports whether an item was refused.
func (a *Answer) refused() bool {
	return slices.ContainsFunc(a.URLs, func(i Item) bool { return i.Error != nil && i.Code() != apierror.CodeOK })
}
