package adoption

// This file has the open connections of a process, and to which database each of them leads.

import (
	"context"
	"crypto/tls"
	"net"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
)

// sockets are the network connections that a guard has accepted.
type sockets struct {
	mu       sync.Mutex
	accepted map[*socket]Found
}

type socket struct {
	net.Conn

	of *sockets
}

// Close implements net.Conn.
func (s *socket) Close() error {
	s.of.mu.Lock()
	delete(s.of.accepted, s)
	s.of.mu.Unlock()
	return s.Conn.Close()
}

func newSockets() *sockets { return &sockets{accepted: make(map[*socket]Found)} }

// through wraps a dial function. Only connections from the returned function can be labeled.
func (s *sockets) through(dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &socket{conn, s}, nil
	}
}

// label notes to which database a connection leads.
func (s *sockets) label(conn net.Conn, found Found) {
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	if accepted, ok := conn.(*socket); ok {
		s.mu.Lock()
		s.accepted[accepted] = found
		s.mu.Unlock()
	}
}

// anyOf reports whether any accepted connection leads elsewhere than to the database that serves.
func (s *sockets) anyOf(serving Serving) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, found := range s.accepted {
		if Decide(serving, found, 0) != Serve {
			return true
		}
	}
	return false
}

// endOthers ends the accepted connections that lead elsewhere than to the database that serves.
func (s *sockets) endOthers(serving Serving) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for accepted, found := range s.accepted {
		if Decide(serving, found, 0) != Serve {
			_ = accepted.Conn.Close() // its user sees the error
			delete(s.accepted, accepted)
		}
	}
}
