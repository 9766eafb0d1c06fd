package openid

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	// timeLimit is how long the issuer may take for one answer.
	timeLimit = 10 * time.Second
	// maxAnswer is the length of the longest answer that is read.
	maxAnswer = 1 << 20
)

// newClient returns the client for all requests to the issuer. Sign-ins are rare, so it keeps no
// connection open.
func newClient() *http.Client {
	return &http.Client{
		Timeout: timeLimit,
		Transport: strictTransport{&http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			ForceAttemptHTTP2:      true,
			DisableKeepAlives:      true,
			MaxResponseHeaderBytes: maxAnswer,
		}},
	}
}

// strictTransport reads whole answers, and turns each answer that cannot be used into an error. So
// every fault of the issuer is an error of the HTTP client.
type strictTransport struct{ base http.RoundTripper }

// RoundTrip returns an answer whose whole body is in memory.
func (s strictTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := s.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if err := checkAnswer(r.Method, response.StatusCode, body); err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// checkAnswer returns an error if an answer cannot be used. A redirect cannot be used, because no
// endpoint of an issuer needs one, and the client would send its secrets to wherever it leads. Only
// the token endpoint gets a POST. It answers errors of a sign-in with a status of 4xx, so such an
// answer can be used, except 429.
func checkAnswer(method string, status int, body []byte) error {
	switch {
	case len(body) > maxAnswer:
		return fmt.Errorf("an answer has more than %d bytes", maxAnswer)
	case status >= 300 && status < 400:
		return errors.New("redirects are not followed")
	case status >= 500, status == http.StatusTooManyRequests,
		method == http.MethodGet && status != http.StatusOK:
		return fmt.Errorf("an answer has the status %d", status)
	case method == http.MethodGet && !json.Valid(body):
		return errors.New("an answer is not JSON")
	}
	return nil
}
