package fastpath

import (
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"time"
)

// slack is how much earlier than configured a connection may run out of time: deadlines are moved
// once in so long, and not with every request. Of short timeouts it is a quarter.
const slack = time.Second

// buffers for heads.
var buffers = sync.Pool{New: func() any { return new([maxHead]byte) }}

// connection is served here until its client asks for something else.
type connection struct {
	net.Conn

	listener *Listener
	buffer   *[maxHead]byte
	sent     []byte    // what the client has sent after the requests that were answered, in buffer
	partial  bool      // a request has begun
	readBy   time.Time // deadlines, as they are set
	writeBy  time.Time
}

// serve answers one request after the other, then closes the connection or hands it over.
func (c *connection) serve() {
	defer c.listener.remove(c)
	defer c.survivePanic()
	//nolint:forcetypeassert // nothing else is in the pool
	c.buffer = buffers.Get().(*[maxHead]byte)
	defer buffers.Put(c.buffer)
	c.sent = c.buffer[:0]
	c.partial = true // the time for the first head runs from the connection on
	c.moveDeadline(&c.readBy, c.listener.cfg.HeadTimeout, c.SetReadDeadline)
	if !c.serveRequests() {
		_ = c.Close() // nobody waits for it
		return
	}
	c.listener.remove(c)
	if c.SetDeadline(time.Time{}) != nil ||
		!c.listener.handOver(&handed{c.Conn, append([]byte(nil), c.sent...)}) {
		_ = c.Close()
	}
}

// serveRequests answers requests as long as they are for the fast path. It is false where the
// connection has come to its end.
func (c *connection) serveRequests() (foreignNext bool) {
	remote, a := c.RemoteAddr().String(), newAnswer()
	for {
		r, size, v := parse(c.sent, c.listener.cfg.Takes)
		switch v {
		case foreign:
			return true
		case incomplete:
			if !c.receive() {
				return false
			}
		case taken:
			r.RemoteAddr = remote
			c.listener.cfg.Handler.ServeHTTP(a, &r.Request)
			if !c.write(a) {
				return false
			}
			a.reset()
			c.sent = c.buffer[:copy(c.buffer[:], c.sent[size:])]
			c.partial = false
		}
	}
}

// survivePanic breaks off the connection whose request has panicked, and no other.
func (c *connection) survivePanic() {
	value := recover()
	if value == nil {
		return
	}
	if value != http.ErrAbortHandler { //nolint:errorlint // the value itself, as net/http does
		c.listener.cfg.ErrorLog.Printf(
			"panic serving %s: %v\n%s", c.RemoteAddr(), value, debug.Stack(),
		)
	}
	_ = c.Close()
}

// receive waits for more of a request, and is false when none will come.
func (c *connection) receive() bool {
	switch {
	case c.partial:
	case len(c.sent) == 0:
		c.moveDeadline(&c.readBy, c.listener.cfg.IdleTimeout, c.SetReadDeadline)
	default:
		c.partial = true
		c.moveDeadline(&c.readBy, c.listener.cfg.HeadTimeout, c.SetReadDeadline)
	}
	if c.listener.stopping.Load() { // after the deadline, because Shutdown sets one too
		return false
	}
	n, err := c.Read(c.buffer[len(c.sent):])
	c.sent = c.buffer[:len(c.sent)+n]
	return err == nil
}

// write sends an answer, and tells whether the connection goes on.
func (c *connection) write(a *answer) bool {
	last := c.listener.stopping.Load()
	c.moveDeadline(&c.writeBy, c.listener.cfg.WriteTimeout, c.SetWriteDeadline)
	_, err := c.Write(a.bytes(time.Now(), last))
	return err == nil && !last
}

// moveDeadline moves a deadline to where the timeout ends that begins now, unless it is about
// there.
func (c *connection) moveDeadline(
	at *time.Time, timeout time.Duration, apply func(time.Time) error,
) {
	to := time.Now().Add(timeout)
	if at.After(to) || at.Before(to.Add(-min(slack, timeout/4))) {
		*at = to
		_ = apply(to) // where it fails, so does what it is for
	}
}

// handed is a connection that has sent something before it was handed over.
type handed struct {
	net.Conn

	sent []byte
}

// Read implements net.Conn.
func (h *handed) Read(p []byte) (int, error) {
	if len(h.sent) == 0 {
		return h.Conn.Read(p)
	}
	n := copy(p, h.sent)
	if h.sent = h.sent[n:]; len(h.sent) == 0 {
		h.sent = nil
	}
	return n, nil
}

// CloseWrite lets net/http tell a client that there is no more to come while it still listens.
func (h *handed) CloseWrite() error {
	if conn, ok := h.Conn.(interface{ CloseWrite() error }); ok {
		return conn.CloseWrite()
	}
	return nil
}
