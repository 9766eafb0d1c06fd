package eventstoretest

// A network in front of a server of any kind, for tests.

import (
	"net"
	"sync"
	"testing"
)

// Forward listens in front of a server until the test ends. For each connection it calls pass,
// which returns two functions: the first (there) forwards the messages of the client, the second
// (back) forwards the messages of the server. Both functions MUST return when the connections are
// closed. Forward closes them at the end of the test at the latest.
func Forward(
	t testing.TB, network, address string, pass func(client, server net.Conn) (there, back func()),
) net.Listener {
	t.Helper()
	listener := Listen(t)
	var ends sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		for _, conn := range open {
			_ = conn.Close()
		}
		mu.Unlock()
		ends.Wait()
	})
	ends.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial(network, address)
			if err != nil {
				_ = client.Close()
				continue
			}
			mu.Lock()
			open = append(open, client, server)
			mu.Unlock()
			there, back := pass(client, server)
			ends.Go(there)
			ends.Go(back)
		}
	})
	return listener
}
