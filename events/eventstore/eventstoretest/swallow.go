package eventstoretest

import (
	"net"
	"sync/atomic"
	"testing"
)

// Swallowed starts a network in front of a server until the test ends. From the call of swallow on,
// the network drops what is sent over the connections that exist at that moment, and keeps them
// open. Later connections work.
func Swallowed(t testing.TB, address string) (listener net.Listener, swallow func()) {
	t.Helper()
	var opened, dead atomic.Int64
	carry := func(number int64, to, from net.Conn) {
		defer func() { _, _ = to.Close(), from.Close() }()
		buffer := make([]byte, 64<<10)
		for {
			n, err := from.Read(buffer)
			if err != nil {
				return
			}
			if number <= dead.Load() {
				continue
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
	}
	pass := func(client, server net.Conn) (there, back func()) {
		number := opened.Add(1)
		return func() { carry(number, server, client) }, func() { carry(number, client, server) }
	}
	return Forward(t, "tcp", address, pass), func() { dead.Store(opened.Load()) }
}
