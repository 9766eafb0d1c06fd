package fastpath

import (
	"bytes"
	"net/http"
	"strconv"
	"time"
)

// responseBuffer collects the response of a handler. A connection uses one for all its requests.
type responseBuffer struct {
	header http.Header
	status int // 0: not yet known
	body   bytes.Buffer
	wire   bytes.Buffer
}

var _ http.ResponseWriter = (*responseBuffer)(nil)

func newResponseBuffer() *responseBuffer { return &responseBuffer{header: make(http.Header)} }

func (b *responseBuffer) reset() {
	clear(b.header)
	b.status = 0
	b.body.Reset()
	b.wire.Reset()
}

// Header implements http.ResponseWriter.
func (b *responseBuffer) Header() http.Header { return b.header }

// WriteHeader implements http.ResponseWriter.
func (b *responseBuffer) WriteHeader(status int) {
	if b.status == 0 {
		b.status = status
	}
}

// Write implements http.ResponseWriter.
func (b *responseBuffer) Write(p []byte) (int, error) {
	b.WriteHeader(http.StatusOK)
	if !hasBody(b.status) {
		return 0, http.ErrBodyNotAllowed
	}
	return b.body.Write(p)
}

// hasBody reports whether responses with a status have a body, possibly an empty one (RFC 9110
// section 6.4.1).
func hasBody(status int) bool {
	return status >= http.StatusOK && status != http.StatusNoContent &&
		status != http.StatusNotModified
}

// closes reports whether the handler has asked for the end of the connection.
func (b *responseBuffer) closes() bool {
	values := b.header["Connection"]
	return len(values) == 1 && values[0] == "close"
}

// bytes returns the encoded response. It is valid until reset. If last is true, the response has
// the header Connection: close.
func (b *responseBuffer) bytes(now time.Time, last bool) []byte {
	b.WriteHeader(http.StatusOK)
	for _, own := range []string{"Content-Length", "Transfer-Encoding", "Connection", "Date"} {
		delete(b.header, own)
	}
	w := &b.wire
	w.WriteString("HTTP/1.1 ")
	w.Write(strconv.AppendInt(w.AvailableBuffer(), int64(b.status), 10))
	w.WriteByte(' ')
	w.WriteString(http.StatusText(b.status))
	w.WriteString("\r\nDate: ")
	w.Write(now.UTC().AppendFormat(w.AvailableBuffer(), http.TimeFormat))
	w.WriteString("\r\n")
	if hasBody(b.status) {
		w.WriteString("Content-Length: ")
		w.Write(strconv.AppendInt(w.AvailableBuffer(), int64(b.body.Len()), 10))
		w.WriteString("\r\n")
	}
	if last {
		w.WriteString("Connection: close\r\n")
	}
	b.writeFields()
	w.WriteString("\r\n")
	w.Write(b.body.Bytes())
	return w.Bytes()
}

// writeFields writes the header fields. Names and values that are not valid are left to net/http,
// which replaces or drops characters that would end a field early.
func (b *responseBuffer) writeFields() {
	w := &b.wire
	for name, values := range b.header {
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
