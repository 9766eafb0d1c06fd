package httpapi

// This file answers the requests that arrive before the service has started.

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/redirect"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/router"
)

// Gate serves the public listener from the start of a process. A request that arrives before Open
// waits for Open. If it has waited for gateTimeout, it is refused with status 503. Gate is safe for
// concurrent use.
type Gate struct {
	logger  *slog.Logger
	timeout time.Duration
	opened  chan struct{}
	ended   context.Context //nolint:containedctx // requests that wait are refused at its end
	handler http.Handler    // valid once opened
	unfit   func() error    // valid once opened
	leaving atomic.Bool     // clients are asked to close their connections
}

// gateTimeout is how long a request waits for the start of the service. It is as long as a call may
// take by default.
const gateTimeout = defaultRequestTimeout

// NewGate returns a closed gate. When ctx ends, the requests that wait are refused.
func NewGate(ctx context.Context, logger *slog.Logger) *Gate {
	return &Gate{
		logger: logger, timeout: gateTimeout, opened: make(chan struct{}), ended: ctx,
	}
}

// Open makes handler answer all requests from now on, including the requests that wait. But while
// unfit returns an error, requests are refused, and the error says why this node must not serve.
// Open MUST be called at most once.
func (g *Gate) Open(handler http.Handler, unfit func() error) {
	g.handler, g.unfit = handler, unfit
	close(g.opened)
}

// Drain makes each answer from now on the last one of its connection (HTTP/2: GOAWAY). A proxy then
// sends its next request to another node, and not into a connection that is about to close.
func (g *Gate) Drain() { g.leaving.Store(true) }

// ServeHTTP implements http.Handler.
func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if g.leaving.Load() {
		w.Header()["Connection"] = []string{"close"}
	}
	select {
	case <-g.opened:
	default:
		if !g.wait(r) {
			g.refuse(request.New(w, r), "The service is starting, and waits for its event store "+
				"or its database")
			return
		}
	}
	if err := g.unfit(); err != nil {
		g.refuse(request.New(w, r), "This node does not serve: "+err.Error())
		return
	}
	g.handler.ServeHTTP(w, r)
}

// wait reports whether the gate is opened in time.
func (g *Gate) wait(r *http.Request) bool {
	late := time.NewTimer(g.timeout)
	defer late.Stop()
	select {
	case <-g.opened:
		return true
	case <-g.ended.Done():
	case <-r.Context().Done():
	case <-late.C:
	}
	return false
}

func (g *Gate) refuse(c *request.Context, why string) {
	failure := response.Report(c, g.logger, apierror.Late(
		why+": repeat the call later. The operator sees the reason at /health/ready.",
	))
	c.Header()[request.HeaderID] = []string{c.ID}
	if path, _ := router.Canonical(c.Request.URL); isBelow(path.Path, "/v3") {
		writeAPIFailure(c, failure)
		return
	}
	redirect.WriteFailure(c, failure)
}
