package fastpath

import (
	"bytes"
	"net/http"
	"strconv"
	"time"
)

// responseBuffer collects the response of a handler. A connection uses one for all its requests.
type answer struct {
	header http.Header
	status int // 0: not yet known
	body   bytes.Buffer
	wire   bytes.Buffer
}

var _ http.ResponseWriter = (*answer)(nil)

func newAnswer() *answer { return &answer{header: make(http.Header)} }

func (a *answer) reset() {
	clear(a.header)
	a.status = 0
	a.body.Reset()
	a.wire.Reset()
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if !hasBody(a.status) {
		return 0, http.ErrBodyNotAllowed
	}
	return a.body.Write(p)
}

// hasBody reports whether responses with a status have a body, possibly an empty one (RFC 9110
// section 6.4.1).
func hasBody(status int) bool {
	return status >= http.StatusOK && status != http.StatusNoContent &&
		status != http.StatusNotModified
}

// bytes returns the encoded response. It is valid until reset. last adds the header that announces
// that the connection closes.
func (a *answer) bytes(now time.Time, last bool) []byte {
	a.WriteHeader(http.StatusOK)
	for _, own := range []string{"Content-Length", "Transfer-Encoding", "Connection", "Date"} {
		delete(a.header, own)
	}
	w := &a.wire
	w.WriteString("HTTP/1.1 ")
	w.Write(strconv.AppendInt(w.AvailableBuffer(), int64(a.status), 10))
	w.WriteByte(' ')
	w.WriteString(http.StatusText(a.status))
	w.WriteString("\r\nDate: ")
	w.Write(now.UTC().AppendFormat(w.AvailableBuffer(), http.TimeFormat))
	w.WriteString("\r\n")
	if hasBody(a.status) {
		w.WriteString("Content-Length: ")
		w.Write(strconv.AppendInt(w.AvailableBuffer(), int64(a.body.Len()), 10))
		w.WriteString("\r\n")
	}
	if last {
		w.WriteString("Connection: close\r\n")
	}
	a.writeFields()
	w.WriteString("\r\n")
	w.Write(a.body.Bytes())
	return w.Bytes()
}

// writeFields writes the header fields. Names and values that are not valid are left to net/http,
// which replaces or drops what would end a field early.
func (a *answer) writeFields() {
	w := &a.wire
	for name, values := range a.header {
		for _, value := range values {
			if !isToken(name) || !isText(value) {
				_ = http.Header{name: {value}}.Write(w) // writes to a buffer do not fail
				continue
			}
			w.WriteString(name)
			w.WriteString(": ")
			w.WriteString(value)
			w.WriteString("\r\n")
		}
	}
}
