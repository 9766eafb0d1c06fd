package response

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"linkledger/httpapi/apierror"
)

// WriteJSON writes a whole answer. It fails before anything is written or not at all: that a client
// is gone ends its connection, and there is nobody to tell.
func WriteJSON(w http.ResponseWriter, status int, body any) error {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	// destinations stay readable; the content type keeps browsers from reading it as HTML
	encoder.SetEscapeHTML(false)
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

// WriteFailure answers a client of the API.
func WriteFailure(w http.ResponseWriter, f apierror.Failure) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	if f.Status == http.StatusServiceUnavailable || f.Status == http.StatusTooManyRequests {
		header.Set("Retry-After", RetryAfter(f))
	}
	if f.Code == apierror.CodeInvalidKey || f.Code == apierror.CodeInvalidUsername {
		header.Set("WWW-Authenticate", `Basic realm="linkledger", charset="UTF-8"`)
	}
	_ = WriteJSON(w, f.Status, failed(f)) // an envelope can be encoded
}

// soon is told to clients when the event store or the database cannot be asked.
const soon = time.Second

// RetryAfter is the value of the header Retry-After of a failure, rounded up.
func RetryAfter(f apierror.Failure) string {
	return strconv.Itoa(int(math.Ceil(cmp.Or(f.RetryAfter, soon).Seconds())))
}
