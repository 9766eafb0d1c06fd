package lane

import (
	"bytes"
	"net/http"
	"strconv"
	"time"
)

// answer collects what a handler answers. It is used for one request after the other.
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

// Write implements http.ResponseWriter. It never fails.
func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}

// bytes returns the whole answer as it is sent, valid until reset. last announces that the connection closes.
func (a *answer) bytes(now time.Time, last bool) []byte {
	a.WriteHeader(http.StatusOK)
	delete(a.header, "Content-Length")
	w := &a.wire
	w.WriteString("HTTP/1.1 ")
	w.Write(strconv.AppendInt(w.AvailableBuffer(), int64(a.status), 10))
	w.WriteByte(' ')
	w.WriteString(http.StatusText(a.status))
	w.WriteString("\r\nDate: ")
	w.Write(now.UTC().AppendFormat(w.AvailableBuffer(), http.TimeFormat))
	w.WriteString("\r\nContent-Length: ")
	w.Write(strconv.AppendInt(w.AvailableBuffer(), int64(a.body.Len()), 10))
	w.WriteString("\r\n")
	if last {
		w.WriteString("Connection: close\r\n")
	}
	_ = a.header.Write(w) // a buffer takes everything
	w.WriteString("\r\n")
	w.Write(a.body.Bytes())
	return w.Bytes()
}
