// Package response writes the responses of the API: the envelope that each begins with, and
// failures. It logs the causes of failures, which clients MUST NOT get.
package response

import (
	"time"

	"linkledger/httpapi/apierror"
)

// The headers of responses.
const (
	// HeaderBatchID has the id by which a write can be undone.
	HeaderBatchID = "X-Batch-Id"
	// HeaderPosition has the position of a write in the log.
	HeaderPosition = "X-Event-Position"
	// HeaderBehind has the age in seconds of the oldest change that an answer may lack.
	HeaderBehind = "X-Seconds-Behind"
)

// version is the version in every envelope. Clients of this API refuse responses without it.
const version = "3.1"

// Envelope is the beginning of every response of the API.
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
	// Fields are the settings of the URL that caused the error.
	Fields []string `json:"fields,omitempty"`
}

// Succeeded returns the envelope of a call that succeeded.
func Succeeded() Envelope { return Envelope{Version: version} }

// failureEnvelope returns the envelope of a call that failed, which is the whole response.
func failureEnvelope(f apierror.Failure) Envelope {
	return Envelope{
		Error:   requestError{Code: f.Code, Message: f.Code.Message(), Details: f.Details},
		Version: version,
	}
}

// NewItemError returns the error of an item of a batch. The error of an item that succeeded is that
// of an empty failure.
func NewItemError(f apierror.Failure) *ItemError {
	return &ItemError{Code: f.Code, Message: f.Code.Message(), Details: f.Details, Fields: f.Fields}
}

// Page says which part of a list a response has.
type Page struct {
	ResultsCount int   `json:"results_count"`
	TotalCount   int64 `json:"total_count"`
	Offset       int   `json:"offset"`
}

// Timestamp is a time in the format of the contract.
type Timestamp time.Time

// MarshalJSON implements json.Marshaler.
func (t Timestamp) MarshalJSON() ([]byte, error) {
	return time.Time(t).UTC().AppendFormat(nil, `"2006-01-02T15:04:05-07:00"`), nil
}
