package fastpath

import (
	"bytes"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// deadlineSlack is how much earlier than configured a timeout may expire, or a quarter of the
// timeout if that is less. The slack saves system calls, because a deadline is moved at most once
// per slack and not for each request.
const deadlineSlack = time.Second

// buffers are the buffers of connections for the heads of requests.
var buffers = sync.Pool{New: func() any { return new([maxHead]byte) }}

// connection is a connection that the fast path serves until a request is ineligible for it.
type connection struct {
	net.Conn

	listener *Listener
	buffer   *[maxHead]byte
	received []byte    // received bytes that follow the requests already served; a part of buffer
	partial  bool      // whether a request has begun
	readBy   time.Time // the read deadline that is set
	writeBy  time.Time // the write deadline that is set
	fresh    bool      // there was no request yet; written under the lock of the listener
}

// serve serves requests in sequence, then closes the connection or hands it over to net/http.
func (c *connection) serve() {
	defer c.listener.settle(c)
	defer c.listener.remove(c)
	defer c.recoverPanic()
	//nolint:forcetypeassert // the pool holds nothing else
	c.buffer = buffers.Get().(*[maxHead]byte)
	defer buffers.Put(c.buffer)
	c.received = c.buffer[:0]
	c.partial = true // HeadTimeout of the first head begins with the connection
	c.moveDeadline(&c.readBy, c.listener.cfg.HeadTimeout, c.SetReadDeadline)
	if c.listener.stopping.Load() { // moveDeadline may have undone Listener.stop's deadline
		_ = c.SetReadDeadline(time.Now().Add(freshTimeout))
	}
	if !c.serveRequests() {
		_ = c.Close()
		return
	}
	c.listener.remove(c)
	if c.SetDeadline(time.Time{}) != nil ||
		!c.listener.handOver(&replayConn{Conn: c.Conn, received: bytes.Clone(mended(c.received))}) {
		_ = c.Close()
	}
}

// serveRequests serves requests until one is ineligible for the fast path. It returns false if the
// connection has to be closed instead.
func (c *connection) serveRequests() (handOver bool) {
	remote, a := c.RemoteAddr().String(), newResponseBuffer()
	for {
		r, size, v := parse(c.received, c.listener.cfg.Eligible)
		switch v {
		case ineligible:
			return true
		case incomplete:
			if !c.receive() {
				return false
			}
		case eligible:
			r.RemoteAddr = remote
			c.listener.cfg.Handler.ServeHTTP(a, &r.Request)
			if !c.write(a) {
				return false
			}
			a.reset()
			c.received = c.buffer[:copy(c.buffer[:], c.received[size:])]
			c.partial = false
			if c.fresh {
				c.listener.settle(c)
			}
		}
	}
}

// recoverPanic logs a panic of the handler and closes the connection. Other connections continue.
func (c *connection) recoverPanic() {
	value := recover()
	if value == nil {
		return
	}
	if value != http.ErrAbortHandler { //nolint:errorlint // net/http compares the value itself
		c.listener.cfg.ErrorLog.Printf(
			"panic serving %s: %v\n%s", c.RemoteAddr(), value, debug.Stack(),
		)
	}
	_ = c.Close()
}

// receive reads more of a request. It returns false if the connection has to be closed.
func (c *connection) receive() bool {
	switch {
	case c.partial:
	case len(c.received) == 0:
		c.moveDeadline(&c.readBy, c.listener.cfg.IdleTimeout, c.SetReadDeadline)
	default:
		c.partial = true
		c.moveDeadline(&c.readBy, c.listener.cfg.HeadTimeout, c.SetReadDeadline)
	}
	// This check MUST follow moveDeadline. Listener.stop sets stopping first, and then the deadline
	// that ends idle reads. If stopping is not set at this check, that deadline comes later, and
	// replaces the deadline that moveDeadline has set.
	if !c.fresh && c.listener.stopping.Load() {
		return false
	}
	n, err := c.Read(c.buffer[len(c.received):])
	c.received = c.buffer[:len(c.received)+n]
	return err == nil
}

// write sends a response. It returns false if the connection has to be closed. A handler closes the
// connection by the header Connection, as with net/http.
func (c *connection) write(b *responseBuffer) bool {
	last := c.listener.stopping.Load() || b.closes()
	c.moveDeadline(&c.writeBy, c.listener.cfg.WriteTimeout, c.SetWriteDeadline)
	_, err := c.Write(b.bytes(time.Now(), last))
	return err == nil && !last
}

// moveDeadline sets a deadline to the end of a timeout that begins now. It changes nothing if the
// present deadline is earlier than that by at most the slack.
func (c *connection) moveDeadline(
	at *time.Time, timeout time.Duration, apply func(time.Time) error,
) {
	to := time.Now().Add(timeout)
	if at.After(to) || at.Before(to.Add(-min(deadlineSlack, timeout/4))) {
		*at = to
		_ = apply(to) // if it fails, so does the read or write that follows
	}
}

// replayConn is a connection that was handed over. Its first reads return what the fast path has
// received already.
type replayConn struct {
	net.Conn

	received []byte
	begins   atomic.Bool // the next bytes of Conn begin a request
}

// Read implements net.Conn.
func (h *replayConn) Read(p []byte) (int, error) {
	if len(h.received) == 0 {
		n, err := h.Conn.Read(p)
		if n == 0 || !h.begins.Swap(false) {
			return n, err
		}
		if whole := mended(p[:n]); len(whole) > n {
			n = copy(p, whole)
			h.received = whole[n:]
		}
		return n, err
	}
	n := copy(p, h.received)
	if h.received = h.received[n:]; len(h.received) == 0 {
		h.received = nil
	}
	return n, nil
}

// CloseWrite closes the writing side. net/http calls this method, if a connection has it, to end a
// response whose client still sends.
func (h *replayConn) CloseWrite() error {
	if conn, ok := h.Conn.(interface{ CloseWrite() error }); ok {
		return conn.CloseWrite()
	}
	return nil
}
