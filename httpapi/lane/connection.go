package lane

import (
	"net"
	"sync"
	"time"
)

// slack is how much earlier than configured a connection may run out of time: deadlines are moved once in so long, and not
// with every request.
const slack = time.Second

// buffers for heads.
var buffers = sync.Pool{New: func() any { return new([maxHead]byte) }}

// connection is served here until its client asks for something else.
type connection struct {
	net.Conn

	listener *Listener
	buffer   *[maxHead]byte
	sent     []byte        // what the client has sent after the requests that were answered, in buffer
	patience time.Duration // with the client until it begins a request
	partial  bool          // it has begun
	readBy   time.Time     // deadlines, as they are set
	writeBy  time.Time
}

// serve answers one request after the other, then closes the connection or hands it over.
func (c *connection) serve() {
	defer c.listener.remove(c)
	c.buffer = buffers.Get().(*[maxHead]byte) //nolint:forcetypeassert // nothing else is in the pool
	defer buffers.Put(c.buffer)
	c.sent, c.patience = c.buffer[:0], c.listener.cfg.HeadTimeout
	if !c.serveRequests() {
		_ = c.Close() // nobody waits for it
		return
	}
	c.listener.remove(c)
	if c.SetDeadline(time.Time{}) != nil || !c.listener.handOver(&handed{c.Conn, append([]byte(nil), c.sent...)}) {
		_ = c.Close()
	}
}

// serveRequests answers requests as long as they are for the lane. It is false where the connection has come to its end.
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
			if !c.listener.answer(a, &r.Request) || !c.write(a) {
				return false
			}
			a.reset()
			c.sent = c.buffer[:copy(c.buffer[:], c.sent[size:])]
			c.patience, c.partial = c.listener.cfg.IdleTimeout, false
		}
	}
}

// receive waits for more of a request, and is false when none will come.
func (c *connection) receive() bool {
	switch now := time.Now(); {
	case len(c.sent) == 0:
		c.moveDeadline(&c.readBy, now.Add(c.patience), c.SetReadDeadline)
	case !c.partial:
		c.partial = true
		c.moveDeadline(&c.readBy, now.Add(c.listener.cfg.HeadTimeout), c.SetReadDeadline)
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
	now, last := time.Now(), c.listener.stopping.Load()
	c.moveDeadline(&c.writeBy, now.Add(c.listener.cfg.WriteTimeout), c.SetWriteDeadline)
	_, err := c.Write(a.bytes(now, last))
	return err == nil && !last
}

func (c *connection) moveDeadline(at *time.Time, to time.Time, set func(time.Time) error) {
	if at.After(to) || at.Before(to.Add(-slack)) {
		*at = to
		_ = set(to) // where it fails, so does what it is for
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
	h.sent = h.sent[n:]
	return n, nil
}
