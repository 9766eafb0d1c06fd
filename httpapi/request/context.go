// Package request has the state of one request: its id, its route, the account that calls and the
// status of the response.
package request

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bunrouter"

	"linkledger/commands/access"
	"linkledger/queries/accountlist"
	"linkledger/queries/linklist"
	"linkledger/tagexpr"
)

// The headers of requests.
const (
	// HeaderID has the id of the request. The response has it too.
	HeaderID = "X-Request-Id"
	// HeaderMethod has the intended method, for clients that can send only POST.
	HeaderMethod = "X-HTTP-Method-Override"
	// HeaderIdempotencyKey identifies a call so that the client may repeat it.
	HeaderIdempotencyKey = "Idempotency-Key"
)

// requestIDs matches the request ids that are accepted from clients. New replaces any other id,
// because ids reach logs and the metadata of events.
var requestIDs = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// Context is a request and its response.
type Context struct {
	http.ResponseWriter

	Request      *http.Request
	ID           string
	SentMethod   string // method before an override
	Route        string // pattern of the matched route
	params       bunrouter.Params
	Account      accountlist.Account // account that calls; zero before authentication
	Key          accountlist.Key     // what the caller may do; without an id if a person calls
	Session      accountlist.Session // of the browser that calls; without an id if a key calls
	Bound        *tagexpr.Expr       // selects the links that the key sees; nil: all
	Status       int                 // status of the response; 0: not yet set
	Payload      map[string]any      // decoded body; nil: not read
	Disconnected <-chan struct{}     // closed when the client disconnects
	Own          bool                // a page of the console makes the call
	life         lifetime            // from Begin
}

// New returns the context of an incoming request. Its id comes from the header HeaderID if that is
// valid, else it is random.
func New(w http.ResponseWriter, r *http.Request) *Context {
	c := &Context{ResponseWriter: w, Request: r, SentMethod: r.Method, ID: r.Header.Get(HeaderID)}
	if !requestIDs.MatchString(c.ID) {
		c.ID = uuid.NewString()
	}
	return c
}

// Rename gives the request and its response another id. It ignores an id that would not be accepted
// from a client.
func (c *Context) Rename(id string) {
	if requestIDs.MatchString(id) {
		c.ID = id
		c.Header().Set(HeaderID, id)
	}
}

// Of returns the context that ServeHTTP passed to the router, with the route and the parameters of
// the path.
func Of(w http.ResponseWriter, r bunrouter.Request) *Context {
	//nolint:forcetypeassert // ServeHTTP passes a Context, and the router no other
	c := w.(*Context)
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

// Unwrap returns the underlying writer, for http.ResponseController.
func (c *Context) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Context returns the context of the request, which ends at its deadline.
func (c *Context) Context() context.Context { return c.Request.Context() }

// Param returns a segment of the path, unescaped.
func (c *Context) Param(name string) string {
	value, err := url.PathUnescape(c.params.ByName(name))
	if err != nil { // impossible: router.Canonical has escaped the path
		return ""
	}
	return value
}

// KnownMethod returns the method, or "other" for an unknown one. Clients can send any text, and the
// result labels metrics.
func (c *Context) KnownMethod() string {
	switch method := c.Request.Method; method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

// IsWatch reports whether a request asks for server-sent events, with which an open page watches
// for changes.
func IsWatch(r *http.Request) bool { return r.Header.Get("Accept") == "text/event-stream" }

// OverrideMethod replaces the method of a POST by the value of HeaderMethod, if the request has the
// header.
func (c *Context) OverrideMethod() {
	method := c.Request.Header.Get(HeaderMethod)
	if method != "" && c.SentMethod == http.MethodPost {
		c.Request.Method = strings.ToUpper(strings.TrimSpace(method))
	}
}

// Scopes returns what the key of the call may do.
func (c *Context) Scopes() access.Scopes { return access.ScopesOf(c.Key.Terms().Scopes) }

// Owner returns which links the call sees: those of the account, within the bound of the key.
func (c *Context) Owner() linklist.Owner {
	return linklist.Owner{Account: c.Account.ID, Bound: c.Bound}
}
