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

// WriteJSON writes a whole response. It returns an error only if nothing has been written. It
// ignores errors of writing: the client has disconnected, and the connection ends anyway.
func WriteJSON(w http.ResponseWriter, status int, body any) error {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	// Destinations stay readable. Browsers do not read the response as HTML, because of its content
	// type.
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

// WriteFailure writes the failure of an API call.
func WriteFailure(w http.ResponseWriter, f apierror.Failure) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	if f.Status == http.StatusServiceUnavailable || f.Status == http.StatusTooManyRequests {
		header.Set("Retry-After", RetryAfter(f))
	}
	if f.Code == apierror.CodeInvalidKey || f.Code == apierror.CodeInvalidUsername {
		header.Set("WWW-Authenticate", `Basic realm="linkledger", charset="UTF-8"`)
	}
	_ = WriteJSON(w, f.Status, failureEnvelope(f)) // encoding an envelope cannot fail
}

// defaultRetryAfter is the Retry-After of failures without one, such as outages.
const defaultRetryAfter = time.Second

// RetryAfter returns the value of the header Retry-After for a failure, rounded up to whole
// seconds.
func RetryAfter(f apierror.Failure) string {
	return strconv.Itoa(int(math.Ceil(cmp.Or(f.RetryAfter, defaultRetryAfter).Seconds())))
}
