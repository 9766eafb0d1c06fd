package page

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/request"
	"linkledger/httpapi/session"
)

const (
	// lookInterval is the pause between two looks of a page that is watched.
	lookInterval = 2 * time.Second
	// lookTimeout bounds a look, and then what the browser takes to receive it.
	lookTimeout = 10 * time.Second
	// maxWatch is how long a page is watched. Browsers begin anew by themselves.
	maxWatch = 10 * time.Minute
	// watchRoute is the route of watched pages in the metrics. Their requests take minutes.
	watchRoute = "watch"
)

// livePart is the template of the part of a page that changes while it is watched. A page that has
// it contains <div id="live">{{template "live" .}}</div> and {{template "watch"}}.
const livePart = "live"

// isWatch reports whether a browser watches a page in place of opening it.
func (s *Pages) isWatch(r *http.Request, name string) bool {
	return r.Method == http.MethodGet && request.IsWatch(r) &&
		s.templates[name].Lookup(livePart) != nil
}

// watch sends the part of a page that changes, again and again, whenever it differs from what was
// sent last. It makes the page anew for each look, so that the rights of the session are checked
// each time. It ends with the session, the browser or the service.
//
// The format is that of server-sent events (HTML Living Standard, section 9.2).
func (s *Pages) watch(c *request.Context, name string, fill Fill) error {
	if site := c.Request.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		return session.ErrOtherOrigin
	}
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
	defer func() { s.watched.leave(taken) }()
	for {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(opened.Context()), lookTimeout)
		c.Request = opened.WithContext(ctx)
		p, part, err := s.look(c, name, fill)
		cancel()
		if err == nil && taken == nil {
			taken, err = s.watched.join(p.Session)
		}
		_ = out.SetWriteDeadline(time.Now().Add(lookTimeout))
		switch {
		case err != nil && c.Status == 0:
			return err
		case err != nil:
			return s.end(c, out, err)
		case !bytes.Equal(part, sent):
			err = s.send(c, out, eventOf(part))
			sent = part
		default:
			err = s.send(c, out, beat)
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

// end ends a stream because of an error. A refusal, such as that of a session that has ended, is
// for good. After anything else the browser tries again.
func (s *Pages) end(c *request.Context, out *http.ResponseController, err error) error {
	if r, ok := AsRefusal(err); ok && r.Status < http.StatusInternalServerError {
		return s.send(c, out, "event: end\ndata:\n\n")
	}
	s.Logger.WarnContext(
		c.Context(), "a page that is watched failed", slog.Any("error", err),
		slog.String("request", c.ID),
	)
	return nil
}

// stopping returns a channel that is closed when the server of the pages begins to stop, because
// the server waits for the requests that have begun. There is one server, that of the first
// request.
func (s *Pages) stopping(ctx context.Context) <-chan struct{} {
	s.onStop.Do(func() {
		if server, ok := ctx.Value(http.ServerContextKey).(*http.Server); ok {
			server.RegisterOnShutdown(func() { close(s.stopped) })
		}
	})
	return s.stopped
}

var errNothingToWatch = &apierror.Error{
	Code: apierror.CodeWrongInput, Status: http.StatusNotAcceptable,
	Details: "This is no page that can be watched",
}

// look makes a page and returns the part of it that changes.
func (s *Pages) look(c *request.Context, name string, fill Fill) (*Page, []byte, error) {
	p := &Page{C: c, pages: s, name: name, Watched: true, Status: http.StatusOK}
	if err := fill(p); err != nil {
		return nil, nil, err
	}
	if p.Redirect != "" || p.Download != "" {
		return nil, nil, errNothingToWatch
	}
	var part bytes.Buffer
	if err := s.templates[name].ExecuteTemplate(&part, livePart, p); err != nil {
		return nil, nil, fmt.Errorf("page %s of the console: %w", name, err)
	}
	return p, part.Bytes(), nil
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

// beat is sent when nothing has changed. It tells proxies and the server that someone is there, and
// the browser that the stream goes on: a proxy that keeps it back would look as if nothing changed.
const beat = "event: beat\ndata:\n\n"

// send sends a part of the stream, and its head before the first one.
func (s *Pages) send(c *request.Context, out *http.ResponseController, text string) error {
	if c.Status == 0 {
		(&Page{C: c}).secure()
		c.Header().Set("Content-Type", "text/event-stream")
		c.Header().Set("X-Accel-Buffering", "no") // nginx would keep the events back
		c.WriteHeader(http.StatusOK)
	}
	if _, err := c.Write([]byte(text)); err != nil {
		return err
	}
	return out.Flush()
}
