// Package response writes the answers of the API: the envelope that each begins with, and failures.
// It logs what a client is not to know.
package response

import (
	"time"

	"linkledger/httpapi/apierror"
)

// The headers that go with answers.
const (
	// HeaderBatchID tells by which id a write can be undone.
	HeaderBatchID = "X-Batch-Id"
	// HeaderPosition tells where a write is in the log.
	HeaderPosition = "X-Event-Position"
)

// version is in every envelope. Clients of this API refuse answers without it.
const version = "3.1"

// Envelope is what every answer of the API begins with.
type Envelope struct {
	Error   requestError `json:"error"`
	Version string       `json:"version"`
}

type requestError struct {
	Code    apierror.Code `json:"code"`
	Message string        `json:"message"`
	Details string        `json:"details,omitempty"`
}

// ItemError is the error of one URL of a batch.
type ItemError struct {
	Code    apierror.Code `json:"code"`
	Message string        `json:"message"`
	Details string        `json:"details"`
	// Fields of the URL that are in the way of what was asked for.
	Fields []string `json:"fields,omitempty"`
}

// Succeeded begins the answer of a call that was carried out.
func Succeeded() Envelope { return Envelope{Version: version} }

// failed is the answer of a call that was not carried out.
func failed(f apierror.Failure) Envelope {
	return Envelope{
		Error:   requestError{Code: f.Code, Message: f.Code.Message(), Details: f.Details},
		Version: version,
	}
}

// NewItemError returns what the client learns of an item of a batch.
func NewItemError(f apierror.Failure) *ItemError {
	return &ItemError{Code: f.Code, Message: f.Code.Message(), Details: f.Details, Fields: f.Fields}
}

// Page says which part of a list an answer has.
type Page struct {
	ResultsCount int   `json:"results_count"`
	TotalCount   int64 `json:"total_count"`
	Offset       int   `json:"offset"`
}

// Timestamp is a time as the contract writes it.
type Timestamp time.Time

// MarshalJSON implements json.Marshaler.
func (t Timestamp) MarshalJSON() ([]byte, error) {
	return time.Time(t).UTC().AppendFormat(nil, `"2006-01-02T15:04:05-07:00"`), nil
}
