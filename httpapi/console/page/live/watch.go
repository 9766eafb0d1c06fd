// Package live sends the part of a page that changes to the browsers that watch the page. It knows
// no page: its caller makes the part.
package live

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"linkledger/httpapi/console/page/calls"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/request"
)

const (
	// lookInterval is how often a page that is watched is made anew.
	lookInterval = 2 * time.Second
	// lookTimeout bounds how long it takes to make the page once, and also how long it takes to
	// send the part to the browser.
	lookTimeout = 10 * time.Second
	// maxWatch is how long one request watches a page. Browsers then send another request by
	// themselves.
	maxWatch = 10 * time.Minute
	// watchRoute is the route of watched pages in the metrics. Their requests take minutes.
	watchRoute = "watch"
)

// Watched is a page that a browser watches.
type Watched struct {
	Begin func() // sets the headers of the answer
	// Look makes the part of the page that changes. It also returns the session of the browser.
	// The context of the request bounds Look.
	Look func() (*contract.CurrentSession, []byte, error)
}

// Watchers sends the parts of watched pages. It is safe for concurrent use.
type Watchers struct {
	logger  *slog.Logger
	places  places
	onStop  sync.Once // makes the server close stopped
	stopped chan struct{}
}

// New returns Watchers that log failures.
func New(logger *slog.Logger) *Watchers {
	return &Watchers{
		logger: logger, stopped: make(chan struct{}), places: places{taken: make(map[place]int)},
	}
}

// Watch sends the part of a page that changes, each time that the part differs from the one sent
// last. It returns when the page can no longer be made, for example because the session has ended,
// when the service stops, when the browser leaves, or after maxWatch.
//
// The format is server-sent events (HTML Living Standard, section 9.2).
func (s *Watchers) Watch(c *request.Context, of Watched) error {
	opened := c.Request
	defer func() { c.Request = opened }()
	gone := c.Disconnected
	ended := s.stopping(opened.Context())
	over := time.After(maxWatch)
	looks := time.NewTicker(lookInterval)
	defer looks.Stop()
	out := http.NewResponseController(c.ResponseWriter)
	// Without this, the server would take the end of the time for reading a request as a disconnect
	// of the browser. A writer without deadlines returns an error, which does not matter.
	_ = out.SetReadDeadline(time.Time{})
	c.Route = watchRoute
	var sent []byte
	var taken []place
	defer func() { s.places.leave(taken) }()
	for {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(opened.Context()), lookTimeout)
		c.Request = opened.WithContext(ctx)
		session, part, err := of.Look()
		cancel()
		if err == nil && taken == nil {
			taken, err = s.places.join(session)
		}
		_ = out.SetWriteDeadline(time.Now().Add(lookTimeout))
		switch {
		case err != nil && c.Status == 0:
			return err
		case err != nil:
			return s.end(c, of, out, err)
		case !bytes.Equal(part, sent):
			err = of.send(c, out, eventOf(part))
			sent = part
		default:
			err = of.send(c, out, beat)
		}
		if err != nil {
			return nil // the browser has left
		}
		select {
		case <-looks.C:
		case <-gone:
			return nil
		case <-ended:
			return nil
		case <-over:
			return nil
		}
	}
}

// end ends a stream because of an error. After a refusal, for example because the session has
// ended, the browser does not try again. After any other error it does.
func (s *Watchers) end(
	c *request.Context, of Watched, out *http.ResponseController, err error,
) error {
	if r, ok := calls.AsRefusal(err); ok && r.Status < http.StatusInternalServerError {
		return of.send(c, out, "event: end\ndata:\n\n")
	}
	s.logger.WarnContext(
		c.Context(), "a page that is watched failed", slog.Any("error", err),
		slog.String("request", c.ID),
	)
	return nil
}

// stopping returns a channel that is closed when the server of the pages begins to stop. Streams
// end then, because the server waits for running requests before it stops. stopping assumes that
// all requests have the same server.
func (s *Watchers) stopping(ctx context.Context) <-chan struct{} {
	s.onStop.Do(func() {
		if server, ok := ctx.Value(http.ServerContextKey).(*http.Server); ok {
			server.RegisterOnShutdown(func() { close(s.stopped) })
		}
	})
	return s.stopped
}

// eventOf returns a text as an event.
func eventOf(text []byte) string {
	var event strings.Builder
	// A lone carriage return ends a line too.
	lines := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(text))
	for line := range strings.Lines(lines) {
		event.WriteString("data: " + strings.TrimSuffix(line, "\n") + "\n")
	}
	event.WriteString("\n")
	return event.String()
}

// beat is sent when nothing has changed. It shows proxies that the connection is in use, finds out
// whether the browser is still there, and shows the browser that the stream still runs. Without
// beats, a page whose stream a proxy holds back would look unchanged.
const beat = "event: beat\ndata:\n\n"

// send sends a part of the stream. It sends the headers before the first part.
func (w Watched) send(c *request.Context, out *http.ResponseController, text string) error {
	if c.Status == 0 {
		w.Begin()
		c.Header().Set("Content-Type", "text/event-stream")
		c.Header().Set("X-Accel-Buffering", "no") // nginx would keep the events back
		c.WriteHeader(http.StatusOK)
	}
	if _, err := c.Write([]byte(text)); err != nil {
		return err
	}
	return out.Flush()
}
