// Package contract has the types of the API on the wire: the bodies of requests and answers, and
// nothing else. v3 encodes the answers. Clients in this module, such as the console, decode them.
// The test of this package compares each type with the schema of the same name in openapi.json.
package contract

import "time"

// Envelope is the beginning of every answer, and the whole answer of calls that return nothing.
type Envelope struct {
	Error   Error  `json:"error"`
	Version string `json:"version"`
}

// Error is the error of a call. Code 0 means success. Package apierror defines the codes.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Details string `json:"details,omitempty"`
}

// ItemError is the error of one item of a call. Code 0 means success.
type ItemError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Details string `json:"details"`
	// Fields are the fields of the URL that caused the error.
	Fields []string `json:"fields,omitempty"`
}

// Page says which part of a list an answer has.
type Page struct {
	ResultsCount int   `json:"results_count"`
	TotalCount   int64 `json:"total_count"`
	Offset       int   `json:"offset"`
}

// Past is the time of an answer about the past.
type Past struct {
	At string `json:"at"`
	// ClicksUntil is the end of the last day whose clicks are counted.
	ClicksUntil Timestamp `json:"clicks_until"`
}

// Timestamp is a time in whole seconds, with a numeric zone.
type Timestamp struct{ time.Time }

// MarshalJSON implements json.Marshaler.
func (t Timestamp) MarshalJSON() ([]byte, error) {
	return t.UTC().AppendFormat(nil, `"2006-01-02T15:04:05-07:00"`), nil
}
