package eventstoretest

import (
	"net"
	"sync"
	"testing"
)

// Silence is a network in front of a server of any kind. While it is silent, connections stay open,
// and what is sent over them arrives only when the silence ends. This is how a network behaves that
// drops packets for a while.
type Silence struct {
	net.Listener

	mu     sync.Mutex
	spoken chan struct{} // closed while the network is not silent
}

// Silenced starts the network until the test ends. At first it forwards everything.
func Silenced(t testing.TB, network, address string) *Silence {
	t.Helper()
	s := &Silence{spoken: make(chan struct{})}
	close(s.spoken)
	ended := make(chan struct{})
	s.Listener = Forward(t, network, address, func(client, server net.Conn) (there, back func()) {
		return func() { s.carry(server, client, ended) }, func() { s.carry(client, server, ended) }
	})
	t.Cleanup(func() { close(ended) }) // before Forward's cleanup, which waits for the connections
	return s
}

// Begin lets the network fall silent.
func (s *Silence) Begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spoken = make(chan struct{})
}

// End ends the silence.
func (s *Silence) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.spoken)
}

// carry forwards what one end sends, until one of them closes.
func (s *Silence) carry(to, from net.Conn, ended <-chan struct{}) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		s.mu.Lock()
		spoken := s.spoken
		s.mu.Unlock()
		select {
		case <-spoken:
		case <-ended:
			return
		}
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
