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
	// lookInterval is the pause between two looks of a page that is watched.
	lookInterval = 2 * time.Second
	// lookTimeout bounds a look, and then the time in which the browser receives it.
	lookTimeout = 10 * time.Second
	// maxWatch is how long a page is watched. Browsers begin anew by themselves.
	maxWatch = 10 * time.Minute
	// watchRoute is the route of watched pages in the metrics. Their requests take minutes.
	watchRoute = "watch"
)

// Watched is a page that a browser watches.
type Watched struct {
	Begin func() // sets the headers of the answer
	// Look makes the part that changes, for the session of the browser. The context of the request
	// bounds it.
	Look func() (*contract.CurrentSession, []byte, error)
}

// Watchers send the parts of pages. It is safe for concurrent use.
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

// Watch sends the part of a page that changes each time it differs from the part that was sent
// last. It ends with the session, the browser or the service, or after maxWatch.
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
	// The server would take the end of the time for reading a request for the end of the browser.
	// A writer without deadlines returns an error, and needs no other one.
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

// end ends a stream because of an error. A refusal, for example because the session has ended, ends
// it for good. After any other error the browser tries again.
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

// stopping returns a channel that is closed when the server of the pages begins to stop, because
// the server waits for running requests. It assumes that all requests have the same server.
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

// beat is sent when nothing has changed. It shows proxies and the server that the client is there,
// and shows the browser that the stream still runs: if a proxy held the stream back, the page would
// look unchanged.
const beat = "event: beat\ndata:\n\n"

// send sends a part of the stream, and its head before the first one.
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
