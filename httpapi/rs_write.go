package httpapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"
)

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

// writeFailure answers a client of the API.
func writeFailure(w http.ResponseWriter, f failure) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	if f.status == http.StatusServiceUnavailable || f.status == http.StatusTooManyRequests {
		header.Set("Retry-After", retryAfter(f))
	}
	if f.code == codeInvalidKey || f.code == codeInvalidUsername {
		header.Set("WWW-Authenticate", `Basic realm="linkledger", charset="UTF-8"`)
	}
	_ = writeJSON(w, f.status, failed(f)) // an envelope can be encoded
}

// soon is told to clients when the event store or the database cannot be asked.
const soon = time.Second

// retryAfter is the value of the header Retry-After of a failure, rounded up.
func retryAfter(f failure) string {
	return strconv.Itoa(int(math.Ceil(cmp.Or(f.retryAfter, soon).Seconds())))
}
