package httpapi

import "time"

// The headers that go with answers.
const (
	// headerBatchID tells by which id a write can be undone.
	headerBatchID = "X-Batch-Id"
	// headerPosition tells where a write is in the log.
	headerPosition = "X-Event-Position"
)

// version is in every envelope. Clients of this API refuse answers without it.
const version = "3.1"

// envelope is what every answer of the API begins with.
type envelope struct {
	Error   requestError `json:"error"`
	Version string       `json:"version"`
}

type requestError struct {
	Code    code   `json:"code"`
	Message string `json:"message"`
	Details string `json:"details,omitempty"`
}

// itemError is the error of one URL of a batch.
type itemError struct {
	Code    code   `json:"code"`
	Message string `json:"message"`
	Details string `json:"details"`
	// Fields of the URL that are in the way of what was asked for.
	Fields []string `json:"fields,omitempty"`
}

// succeeded begins the answer of a call that was carried out.
func succeeded() envelope { return envelope{Version: version} }

// failed is the answer of a call that was not carried out.
func failed(f failure) envelope {
	return envelope{
		Error:   requestError{Code: f.code, Message: f.code.message(), Details: f.details},
		Version: version,
	}
}

// itemOf returns what the client learns of an item of a batch.
func itemOf(f failure) *itemError {
	return &itemError{Code: f.code, Message: f.code.message(), Details: f.details, Fields: f.fields}
}

// page says which part of a list an answer has.
type page struct {
	ResultsCount int   `json:"results_count"`
	TotalCount   int64 `json:"total_count"`
	Offset       int   `json:"offset"`
}

// timestamp is a time as the contract writes it.
type timestamp time.Time

// MarshalJSON implements json.Marshaler.
func (t timestamp) MarshalJSON() ([]byte, error) {
	return time.Time(t).UTC().AppendFormat(nil, `"2006-01-02T15:04:05-07:00"`), nil
}
