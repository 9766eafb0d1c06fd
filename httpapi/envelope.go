package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/uptrace/bunrouter"
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

func succeeded() envelope { return envelope{Version: version} }

func failed(f failure) envelope {
	return envelope{
		Error:   requestError{Code: f.code, Message: answers[f.code].message, Details: f.details},
		Version: version,
	}
}

func (f failure) item() *itemError {
	return &itemError{Code: f.code, Message: answers[f.code].message, Details: f.details, Fields: f.fields}
}

// endpoint makes a route of what answers authenticated calls of the API: with a value whose JSON is the whole answer, or
// with an error. It refuses a moment: an answer about now, or a change of what is there now, would not be what was asked for.
func (s *server) endpoint(answer func(e *exchange) (any, error)) bunrouter.HandlerFunc {
	return s.endpointAt(func(e *exchange) (any, error) {
		if query, err := parameters(e); err == nil && query.Get("at") != "" {
			return nil, wrongInput("at is for reading the account and URLs; this call is about now")
		}
		return answer(e)
	})
}

// endpointAt is endpoint for what can answer as of a moment.
func (s *server) endpointAt(answer func(e *exchange) (any, error)) bunrouter.HandlerFunc {
	return func(w http.ResponseWriter, r bunrouter.Request) error {
		e := exchangeOf(w, r)
		if err := s.authenticate(e); err != nil {
			return err
		}
		if err := s.meter(e); err != nil {
			return err
		}
		if err := s.checkDomain(e); err != nil {
			return err
		}
		body, err := answer(e)
		if err != nil {
			return err
		}
		e.Header().Set("Cache-Control", "no-store")
		return writeJSON(e, http.StatusOK, body)
	}
}

// writeJSON writes a whole answer. It fails before anything is written or not at all: that a client is gone ends its
// connection, and there is nobody to tell.
func writeJSON(w http.ResponseWriter, status int, body any) error {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false) // destinations stay readable; the content type keeps browsers from reading it as HTML
	if err := encoder.Encode(body); err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	header := w.Header()
	header.Set("Content-Type", "application/json; charset=utf-8")
	header.Set("Content-Length", strconv.Itoa(encoded.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(encoded.Bytes())
	return nil
}

// timestamp is a time as the contract writes it.
type timestamp time.Time

// MarshalJSON implements json.Marshaler.
func (t timestamp) MarshalJSON() ([]byte, error) {
	return time.Time(t).UTC().AppendFormat(nil, `"2006-01-02T15:04:05-07:00"`), nil
}
