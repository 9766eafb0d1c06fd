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

// Config of a Listener. All fields are needed.
type Config struct {
	Handler http.Handler
	// Takes tells which paths are answered here. It lets no path through that would have to be
	// escaped.
	Takes func(path string) bool

	// from the first byte of a head to its end; for the first head from the connection on
	HeadTimeout  time.Duration
	WriteTimeout time.Duration // to write an answer
	IdleTimeout  time.Duration // between two requests

	ErrorLog *log.Logger // learns of panics of Handler
}

// Listener accepts connections, answers the requests of some of them, and hands the others to
// whoever accepts from it: an http.Server, which should have the same timeouts.
type Listener struct {
	net.Listener

	cfg      Config
	accepted chan accepted // for Accept
	closed   chan struct{}
	close    func() error
	stopping atomic.Bool
	serving  sync.WaitGroup

	mu          sync.Mutex
	connections map[*connection]struct{}
}

// accepted is a connection for net/http, or why there is none.
type accepted struct {
	net.Conn
	err error
}

// Listen begins to accept connections.
func Listen(listener net.Listener, cfg Config) *Listener {
	l := &Listener{
		Listener: listener, cfg: cfg,
		accepted: make(chan accepted), closed: make(chan struct{}),
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
			select {
			case l.accepted <- accepted{err: err}:
				// whoever accepts knows whether to wait and try again
				continue
			case <-l.closed:
				return
			}
		}
		c := &connection{Conn: conn, listener: l}
		if !l.add(c) {
			_ = conn.Close() // came while the listener closed
			continue
		}
		l.serving.Go(c.serve)
	}
}

// Accept implements net.Listener. It returns the connections that are not served here.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case a := <-l.accepted:
		return a.Conn, a.err
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. Connections that are served here end with the request that they
// are at.
func (l *Listener) Close() error { return l.close() }

func (l *Listener) stop() error {
	close(l.closed)
	err := l.Listener.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopping.Store(true)
	for c := range l.connections {
		_ = c.SetReadDeadline(time.Unix(1, 0)) // those that wait for a request wait no longer
	}
	return err
}

// Shutdown closes the listener and waits until the requests in progress are answered. When ctx ends
// before, it closes their connections and fails.
func (l *Listener) Shutdown(ctx context.Context) error {
	_ = l.Close() // whoever accepts learns of it
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
	if l.stopping.Load() {
		return false
	}
	l.connections[c] = struct{}{}
	return true
}

func (l *Listener) remove(c *connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.connections, c)
}

// handOver gives a connection to whoever accepts, and is false where nobody does any more.
func (l *Listener) handOver(conn net.Conn) bool {
	select {
	case l.accepted <- accepted{Conn: conn}:
		return true
	case <-l.closed:
		return false
	}
}
