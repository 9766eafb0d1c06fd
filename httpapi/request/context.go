// Package request has what belongs to one request on its way through the service: its id, its
// route, the account that asks and the status of its answer.
package request

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

// The headers that go with requests.
const (
	// HeaderID names the request, in the answer too.
	HeaderID = "X-Request-Id"
	// HeaderMethod is what clients that can send nothing but POST mean.
	HeaderMethod = "X-HTTP-Method-Override"
	// HeaderIdempotencyKey names a call that may be repeated.
	HeaderIdempotencyKey = "Idempotency-Key"
)

// requestIDs are the incoming request ids that are taken over. They end up in logs and in the
// metadata of events.
var requestIDs = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// Context is one request and its answer.
type Context struct {
	http.ResponseWriter

	Request    *http.Request
	ID         string // of the request
	SentMethod string // method, before any override
	Route      string // pattern that matched
	params     bunrouter.Params
	Account    queries.Account // who asks; zero before authentication
	Status     int             // of the answer; 0: not yet known
	Payload    map[string]any  // of the body, where it was read
	Left       <-chan struct{} // closed when the client has
}

// New returns the context of a request that has just come in, with an id.
func New(w http.ResponseWriter, r *http.Request) *Context {
	c := &Context{ResponseWriter: w, Request: r, SentMethod: r.Method, ID: r.Header.Get(HeaderID)}
	if !requestIDs.MatchString(c.ID) {
		c.ID = uuid.NewString()
	}
	return c
}

// Of returns the context that ServeHTTP handed to the router, with what the router found.
func Of(w http.ResponseWriter, r bunrouter.Request) *Context {
	c := w.(*Context) //nolint:forcetypeassert // nothing stands between ServeHTTP and the handlers
	c.Route, c.params = r.Route(), r.Params()
	return c
}

// WriteHeader implements http.ResponseWriter.
func (c *Context) WriteHeader(status int) {
	if c.Status == 0 {
		c.Status = status
	}
	c.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (c *Context) Write(p []byte) (int, error) {
	if c.Status == 0 {
		c.Status = http.StatusOK
	}
	return c.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (c *Context) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Context ends with the request's deadline.
func (c *Context) Context() context.Context { return c.Request.Context() }

// Extend gives the request another deadline from now on. The caller calls end when it is done.
func (c *Context) Extend(timeout time.Duration) (end context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), timeout)
	c.Request = c.Request.WithContext(ctx)
	// Not every writer has a deadline, and then there is none to extend.
	_ = http.NewResponseController(c.ResponseWriter).SetWriteDeadline(
		time.Now().Add(timeout + farewell),
	)
	return cancel
}

// farewell is the time to write the answer when all else is done.
const farewell = 10 * time.Second

// Param returns a segment of the path, unescaped.
func (c *Context) Param(name string) string {
	value, err := url.PathUnescape(c.params.ByName(name))
	if err != nil { // router.Canonical escapes ours
		return ""
	}
	return value
}

// KnownMethod is the method, or "other": anybody can send any.
func (c *Context) KnownMethod() string {
	switch method := c.Request.Method; method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

// OverrideMethod lets clients that can send nothing but POST say which method they mean.
func (c *Context) OverrideMethod() {
	if meant := c.Request.Header.Get(HeaderMethod); meant != "" && c.SentMethod == http.MethodPost {
		c.Request.Method = strings.ToUpper(strings.TrimSpace(meant))
	}
}

// ErrClientLeft ends an operation that has not begun.
var ErrClientLeft = errors.New("the client has left")
