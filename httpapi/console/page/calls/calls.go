// Package calls makes the calls of the API that a page needs, in this process, with the session of
// the browser. It knows no page.
package calls

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
)

// Call is a call of the API that a page has made, as the page shows it.
type Call struct {
	Method, Path, Body string

	// Form is a field of a form that is sent instead of Body, in curl's notation.
	Form string
}

// Curl returns the call as a command that runs curl. base is the base URL of the API.
func (c Call) Curl(base string) string {
	command := `curl -u "$ACCOUNT:$API_KEY"`
	if c.Form != "" {
		return command + " -F " + quoted(c.Form) + " " + quoted(base+c.Path)
	}
	if c.Method != http.MethodGet {
		command += " -X " + c.Method
	}
	if c.Body != "" {
		command += " -H 'Content-Type: application/json' -d " + quoted(c.Body)
	}
	return command + " " + quoted(base+c.Path)
}

// quoted quotes a text for a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// RefusedError is a call of the API that was refused or failed.
type RefusedError struct {
	Status int
	Code   apierror.Code // 0: the page refuses, not the API
	Text   string        // for people

	RetryAfter time.Duration // 0: the default
	Done       bool          // a part was done, so the same form is not tried again
}

// Error implements error.
func (r *RefusedError) Error() string { return r.Text }

// AsRefusal returns an error as a refusal, either of a call or of the page itself. It returns false
// if the error is no refusal.
func AsRefusal(err error) (*RefusedError, bool) {
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return refused, true
	}
	if own, ok := apierror.Refusal(err); ok {
		return RefusalOf(own), true
	}
	return nil, false
}

// RefusalOf returns a failure as a refusal.
func RefusalOf(f apierror.Failure) *RefusedError {
	return &RefusedError{
		Status: f.Status, Code: f.Code, Text: cmp.Or(f.Details, f.Code.Message()),
		RetryAfter: f.RetryAfter,
	}
}

// Caller makes the calls of one page.
type Caller struct {
	C *request.Context // the request for the page

	Calls  []Call        // that the page has made
	Behind time.Duration // how old the oldest change is that the page may lack; 0: it lacks none

	// Named is the beginning of the idempotency keys of the calls. If calls are repeated with the
	// same Named, they are done once. If Named is empty, the calls have no keys.
	Named string

	api           http.Handler
	username, key string   // used instead of the session, while someone signs in
	writes        int      // calls so far that can change something
	batches       []string // ids of the calls that could change something
	written       uint64   // commit position of the writes of the calls; 0: none
}

// New returns the caller of a page. api serves the calls.
func New(c *request.Context, api http.Handler) Caller { return Caller{C: c, api: api} }

// SignInAs makes later calls with a user name and an API key instead of the session.
func (m *Caller) SignInAs(username, key string) { m.username, m.key = username, key }

// Batches returns the ids of the calls that could change something.
func (m *Caller) Batches() []string { return m.batches }

// LastBatch returns the id of the last call that could change something, or "".
func (m *Caller) LastBatch() string {
	if len(m.batches) == 0 {
		return ""
	}
	return m.batches[len(m.batches)-1]
}

// TakeWritten returns the commit position of the calls' last write since TakeWritten was called
// before, or 0 if there is none.
func (m *Caller) TakeWritten() uint64 {
	written := m.written
	m.written = 0
	return written
}

// noteProgress notes the progress of the read models from the headers of an answer.
func (m *Caller) noteProgress(header http.Header) {
	if position, err := strconv.ParseUint(header.Get(response.HeaderPosition), 10, 64); err == nil {
		m.written = max(m.written, position)
	}
	if seconds, err := strconv.ParseInt(header.Get(response.HeaderBehind), 10, 64); err == nil {
		m.Behind = max(m.Behind, time.Duration(seconds)*time.Second)
	}
}

// Get makes a call that reads, and stores its answer in into. The page shows the call.
func (m *Caller) Get(path string, query url.Values, into any) error {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return m.Call(http.MethodGet, path, nil, into)
}

// Call makes a call of the API with the session of the browser. If into is not nil, it stores the
// answer there. If the API refuses the call, or fails, the error is a *RefusedError.
func (m *Caller) Call(method, path string, body, into any) error {
	made := Call{Method: method, Path: path}
	if body != nil {
		var encoded strings.Builder
		encoder := json.NewEncoder(&encoded)
		encoder.SetEscapeHTML(false) // the page escapes the body and the curl command
		if err := encoder.Encode(body); err != nil {
			return fmt.Errorf("encode a call: %w", err)
		}
		made.Body = strings.TrimSuffix(encoded.String(), "\n")
	}
	m.Calls = append(m.Calls, made)
	r, err := http.NewRequestWithContext(
		m.C.Context(), method, path, strings.NewReader(made.Body),
	)
	if err != nil {
		return fmt.Errorf("make a call: %w", err)
	}
	outer := m.C.Request
	r.Host, r.TLS, r.RemoteAddr = outer.Host, outer.TLS, outer.RemoteAddr
	for _, name := range []string{"Accept", "Cookie", "User-Agent", "X-Forwarded-For"} {
		r.Header[name] = outer.Header[name]
	}
	r.Header.Set(request.HeaderID, m.C.ID)
	r.Header.Set("Content-Type", "application/json")
	if m.Named != "" && method != http.MethodGet {
		// A form that is sent again after a crash makes the same calls, with the same keys.
		m.writes++
		r.Header.Set(request.HeaderIdempotencyKey, m.Named+"-"+strconv.Itoa(m.writes))
	}
	if m.username != "" {
		r.SetBasicAuth(m.username, m.key)
	}
	answer := recorder{header: make(http.Header), page: m.C.ResponseWriter}
	m.api.ServeHTTP(&answer, r)
	for _, cookie := range answer.header["Set-Cookie"] { // of a session that begins or ends
		m.C.Header().Add("Set-Cookie", cookie)
	}
	if batch := answer.header.Get(response.HeaderBatchID); batch != "" {
		m.batches = append(m.batches, batch)
	}
	m.noteProgress(answer.header)
	return m.read(answer, into)
}

// read reads the answer of a call.
func (m *Caller) read(answer recorder, into any) error {
	var begins contract.Envelope
	if err := json.Unmarshal(answer.body.Bytes(), &begins); err != nil {
		return fmt.Errorf("answer of a call: %w", err)
	}
	if code := apierror.Code(begins.Error.Code); code != apierror.CodeOK {
		seconds, _ := strconv.Atoi(answer.header.Get("Retry-After")) // without it: the default
		return &RefusedError{
			Status: answer.status, Code: code,
			Text:       cmp.Or(begins.Error.Details, begins.Error.Message),
			RetryAfter: time.Duration(seconds) * time.Second,
		}
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(answer.body.Bytes(), into); err != nil {
		return fmt.Errorf("answer of a call: %w", err)
	}
	return nil
}

// recorder keeps the answer of a call.
type recorder struct {
	page   http.ResponseWriter
	header http.Header
	status int
	body   bytes.Buffer
}

// Unwrap returns the writer of the page, for http.ResponseController. A call that extends its time
// to write thus extends the time of its page.
func (r *recorder) Unwrap() http.ResponseWriter { return r.page }

// Header implements http.ResponseWriter.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) { r.status = status }

// Write implements http.ResponseWriter.
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }
