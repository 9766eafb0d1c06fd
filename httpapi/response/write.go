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

// Write writes a whole response. It ignores an error, which means that the client has disconnected.
func Write(w http.ResponseWriter, status int, contentType string, body []byte) {
	header := w.Header()
	header.Set("Content-Type", contentType)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// WritePage writes an HTML page that needs nothing but its own styles.
func WritePage(w http.ResponseWriter, status int, page []byte) {
	w.Header().Set(
		"Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "+
			"frame-ancestors 'none'",
	)
	Write(w, status, "text/html; charset=utf-8", page)
}

// WriteJSON is Write for a body in JSON. It returns an error only if nothing has been written.
func WriteJSON(w http.ResponseWriter, status int, body any) error {
	encoded, err := encode(body)
	if err != nil {
		return err
	}
	Write(w, status, "application/json; charset=utf-8", encoded)
	return nil
}

// encode encodes a value in JSON, with a line end. It does not escape HTML, so that destinations
// stay readable. Because of the content type, browsers do not read the response as HTML.
func encode(value any) ([]byte, error) {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	return encoded.Bytes(), nil
}

// Raw returns a value in JSON, as WriteJSON writes it within a body.
func Raw(value any) (json.RawMessage, error) {
	encoded, err := encode(value)
	return bytes.TrimSuffix(encoded, []byte("\n")), err
}

// WriteFailure writes the failure of an API call.
func WriteFailure(w http.ResponseWriter, f apierror.Failure) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	SetRetryAfter(header, f)
	if f.Code == apierror.CodeInvalidKey || f.Code == apierror.CodeInvalidUsername {
		header.Set("WWW-Authenticate", `Basic realm="linkledger", charset="UTF-8"`)
	}
	_ = WriteJSON(w, f.Status, failureEnvelope(f)) // encoding an envelope cannot fail
}

// defaultRetryAfter is the Retry-After of failures without one, such as outages.
const defaultRetryAfter = time.Second

// SetRetryAfter sets the header Retry-After, in whole seconds, if the status is 503 or 429, because
// such a failure ends by itself.
func SetRetryAfter(header http.Header, f apierror.Failure) {
	if f.Status != http.StatusServiceUnavailable && f.Status != http.StatusTooManyRequests {
		return
	}
	seconds := math.Ceil(cmp.Or(f.RetryAfter, defaultRetryAfter).Seconds())
	header.Set("Retry-After", strconv.Itoa(int(seconds)))
}
