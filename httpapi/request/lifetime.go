package request

import (
	"context"
	"io"
	"net/http"
	"time"

	"linkledger/queries"
)

// lifetime is how long a request lasts.
type lifetime struct {
	client  context.Context //nolint:containedctx // of the connection: it ends with the client
	timeout time.Duration
	reads   bool // whether the request also ends with its client
	fixed   bool // whether Extend has set the deadline
	ends    []context.CancelFunc
}

// Begin bounds the duration of a request. If its method only reads, the request also ends when its
// client disconnects. Any other request is finished without its client. The time begins anew once
// the body was read, so that a client that sends slowly takes no time from the service. The caller
// MUST call end.
//
// The queries of the request are measured, so that response.Report can tell whether the request
// asked for too much. Begin MUST follow OverrideMethod.
func (c *Context) Begin(timeout time.Duration) (end func()) {
	c.Disconnected = c.Context().Done()
	method := c.Request.Method
	c.life = lifetime{
		client: c.Context(), timeout: timeout,
		reads: method == http.MethodGet || method == http.MethodHead,
	}
	c.Request = c.Request.WithContext(queries.Measured(c.Context(), timeout))
	c.renew()
	if c.Request.Body != nil && c.Request.Body != http.NoBody {
		c.Request.Body = &timedBody{c.Request.Body, c}
	}
	return func() {
		for _, end := range c.life.ends {
			end()
		}
	}
}

// EndWithClient makes a call end with its client. The call MUST only read, and may have any method.
// A call that a page of the console makes ends with the page.
func (c *Context) EndWithClient() {
	if c.life.client == nil || c.life.reads {
		return
	}
	c.life.reads = true
	c.renew()
}

// renew begins the time of the request anew. The new context keeps the values of the present one.
func (c *Context) renew() {
	if c.life.fixed {
		return
	}
	ctx, end := context.WithTimeout(context.WithoutCancel(c.Context()), c.life.timeout)
	c.life.ends = append(c.life.ends, end)
	if c.life.reads && c.life.client.Err() != nil {
		end()
	} else if c.life.reads {
		stop := context.AfterFunc(c.life.client, end)
		c.life.ends = append(c.life.ends, func() { stop() })
	}
	c.Request = c.Request.WithContext(ctx)
}

// timedBody is the body of a request. When the body ends, the time of the request begins anew.
type timedBody struct {
	io.ReadCloser

	c *Context
}

// Read implements io.Reader.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && b.c != nil {
		b.c.renew()
		b.c = nil
	}
	return n, err
}

// Extend replaces the deadline of the request by one that is timeout from now. The caller MUST call
// end.
func (c *Context) Extend(timeout time.Duration) (end context.CancelFunc) {
	former := c.Context()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(former), timeout)
	c.life.fixed = true
	c.Request = c.Request.WithContext(ctx)
	// A writer without deadlines returns an error, and needs no extension.
	_ = http.NewResponseController(c.ResponseWriter).SetWriteDeadline(
		time.Now().Add(timeout + writeTimeout),
	)
	return func() {
		cancel()
		c.Request = c.Request.WithContext(former) // with ctx, the client would seem to have left
	}
}

// writeTimeout is the time to write the response after the request's deadline.
const writeTimeout = 10 * time.Second
