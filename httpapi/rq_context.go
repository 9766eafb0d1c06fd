package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bunrouter"

	"linkledger/queries"
)

const (
	headerRequestID = "X-Request-Id"
	// headerMethod is what clients that can send nothing but POST mean.
	headerMethod = "X-HTTP-Method-Override"
	// headerIdempotencyKey names a call that may be repeated.
	headerIdempotencyKey = "Idempotency-Key"
)

// requestIDs are the incoming request ids that are taken over. They end up in logs and in the metadata of events.
var requestIDs = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// exchange is one request and its answer.
type exchange struct {
	http.ResponseWriter

	request *http.Request
	id      string // of the request
	sent    string // method, before any override
	route   string // pattern that matched
	client  bool   // it is a call of the API
	params  bunrouter.Params
	account queries.Account // who asks; zero before authentication
	status  int             // of the answer; 0: not yet known
	payload map[string]any  // of the body, where it was read
	left    <-chan struct{} // closed when the client has
}

// newExchange returns the context of a request that has just come in, with an id.
func newExchange(w http.ResponseWriter, r *http.Request) *exchange {
	c := &exchange{ResponseWriter: w, request: r, sent: r.Method, id: r.Header.Get(headerRequestID)}
	if !requestIDs.MatchString(c.id) {
		c.id = uuid.NewString()
	}
	return c
}

// exchangeOf returns the exchange that ServeHTTP handed to the router, with what the router found.
func exchangeOf(w http.ResponseWriter, r bunrouter.Request) *exchange {
	c := w.(*exchange) //nolint:forcetypeassert // nothing stands between ServeHTTP and the handlers
	c.route, c.params = r.Route(), r.Params()
	return c
}

// WriteHeader implements http.ResponseWriter.
func (c *exchange) WriteHeader(status int) {
	if c.status == 0 {
		c.status = status
	}
	c.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (c *exchange) Write(p []byte) (int, error) {
	if c.status == 0 {
		c.status = http.StatusOK
	}
	return c.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (c *exchange) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// context ends with the request's deadline.
func (c *exchange) context() context.Context { return c.request.Context() }

// extend gives the request another deadline from now on. The caller calls end when it is done.
func (c *exchange) extend(timeout time.Duration) (end context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.context()), timeout)
	c.request = c.request.WithContext(ctx)
	// Not every writer has a deadline, and then there is none to extend.
	_ = http.NewResponseController(c.ResponseWriter).SetWriteDeadline(time.Now().Add(timeout + farewell))
	return cancel
}

// farewell is the time to write the answer when all else is done.
const farewell = 10 * time.Second

// param returns a segment of the path, unescaped.
func (c *exchange) param(name string) string {
	value, err := url.PathUnescape(c.params.ByName(name))
	if err != nil { // canonical escapes ours
		return ""
	}
	return value
}

// knownMethod is the method, or "other": anybody can send any.
func (c *exchange) knownMethod() string {
	switch method := c.request.Method; method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

// override lets clients that can send nothing but POST say which method they mean.
func (c *exchange) override() {
	if meant := c.request.Header.Get(headerMethod); meant != "" && c.sent == http.MethodPost {
		c.request.Method = strings.ToUpper(strings.TrimSpace(meant))
	}
}

// errClientLeft ends an operation that has not begun.
var errClientLeft = errors.New("the client has left")
