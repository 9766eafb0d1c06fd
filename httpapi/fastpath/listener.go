package fastpath

import (
	"context"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Config of a Listener. All fields are required.
type Config struct {
	Handler http.Handler
	// Eligible reports whether the fast path serves a path. It MUST return false for paths that
	// have to be escaped. In the service this is shortlink.IsPath.
	Eligible func(path string) bool

	// HeadTimeout is the most time from the first byte of a head to its end. For the first head of
	// a connection, the time begins when the connection is accepted.
	HeadTimeout  time.Duration
	WriteTimeout time.Duration // the most time to write a response
	IdleTimeout  time.Duration // the most time between two requests

	ErrorLog *log.Logger // logs panics of Handler
}

// Listener accepts connections and serves their requests while they are eligible. Accept returns
// the other connections, for an http.Server that should have the same timeouts.
type Listener struct {
	net.Listener

	cfg      Config
	accepted chan acceptResult // unbuffered; Accept receives from it
	closed   chan struct{}     // closed by end
	close    func() error      // calls stop once
	stopping atomic.Bool       // if set, a connection may begin only its first request
	serving  sync.WaitGroup

	mu          sync.Mutex // guards what follows
	connections map[*connection]struct{}
	fresh       int  // connections without a request yet
	ended       bool // closed is closed
}

// freshTimeout is how long a closing listener waits for the first request of a connection. A proxy
// that has just connected is about to send one.
const freshTimeout = 2 * time.Second

// acceptResult is what Accept returns.
type acceptResult struct {
	net.Conn
	err error
}

// Listen starts to accept connections. The caller MUST call Close or Shutdown.
func Listen(listener net.Listener, cfg Config) *Listener {
	l := &Listener{
		Listener: listener, cfg: cfg,
		accepted: make(chan acceptResult), closed: make(chan struct{}),
		connections: make(map[*connection]struct{}),
	}
	l.close = sync.OnceValue(l.stop)
	l.serving.Go(l.accept)
	return l
}

// accept serves each connection in a goroutine of its own.
func (l *Listener) accept() {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			if l.stopping.Load() {
				return
			}
			select {
			case l.accepted <- acceptResult{err: err}:
				// The caller of Accept decides whether to wait and to accept again.
				continue
			case <-l.closed:
				return
			}
		}
		c := &connection{Conn: conn, listener: l}
		if !l.add(c) {
			_ = conn.Close() // it was accepted while the listener closed
			continue
		}
		l.serving.Go(c.serve)
	}
}

// Accept implements net.Listener. It returns the connections that the fast path does not serve.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case a := <-l.accepted:
		return a.Conn, a.err
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. Connections of the fast path close after their current request. A
// connection that was just accepted may still send its first request within freshTimeout, because
// its client does not know that the listener closes. Until then, Accept may still return such a
// connection.
func (l *Listener) Close() error { return l.close() }

func (l *Listener) stop() error {
	l.stopping.Store(true)
	err := l.Listener.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	until := time.Now().Add(freshTimeout)
	for c := range l.connections {
		if c.fresh {
			_ = c.SetReadDeadline(until)
		} else {
			_ = c.SetReadDeadline(time.Unix(1, 0)) // ends reads of idle connections
		}
	}
	if l.fresh == 0 {
		l.end()
	} else {
		time.AfterFunc(freshTimeout, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.end()
		})
	}
	return err
}

// end makes Accept fail from now on. The caller MUST hold l.mu.
func (l *Listener) end() {
	if !l.ended {
		l.ended = true
		close(l.closed)
	}
}

// settle records that a connection is no longer fresh. Either its first request was answered, or
// the fast path no longer serves the connection.
func (l *Listener) settle(c *connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !c.fresh {
		return
	}
	c.fresh = false
	l.fresh--
	if l.fresh == 0 && l.stopping.Load() {
		l.end()
	}
}

// Shutdown closes the listener and waits until the current requests are served. If ctx ends
// earlier, Shutdown closes the connections of those requests and returns the cause of ctx.
func (l *Listener) Shutdown(ctx context.Context) error {
	_ = l.Close() // Accept fails soon
	ended := make(chan struct{})
	go func() {
		l.serving.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.connections {
		_ = c.Close()
	}
	return context.Cause(ctx)
}

func (l *Listener) add(c *connection) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	l.connections[c] = struct{}{}
	c.fresh = true
	l.fresh++
	return true
}

// remove removes a connection from the listener. It does not change whether the connection is
// fresh.
func (l *Listener) remove(c *connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.connections, c)
}

// handOver gives a connection to the caller of Accept. It returns false if the listener is closed.
func (l *Listener) handOver(conn net.Conn) bool {
	select {
	case l.accepted <- acceptResult{Conn: conn}:
		return true
	case <-l.closed:
		return false
	}
}
