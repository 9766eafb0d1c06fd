package eventstoretest

import (
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
)

// Ports that systems give out by themselves start at 32768 (Linux) or 49152. One of those may become the other end of
// any connection while the server that a test had there is stopped, or not started yet.
const (
	firstPort = 10240
	endPort   = 32768
	perTests  = 512 // ports apart are the processes that test packages at the same time
)

var lastPort atomic.Int64

// Listen opens a port of this machine that nobody gets by chance once it is closed: a server may be stopped and started
// there again, or be told of it before it starts.
func Listen(t testing.TB) net.Listener {
	t.Helper()
	start := int64(os.Getpid()) * perTests
	for range endPort - firstPort {
		port := firstPort + (start+lastPort.Add(1))%(endPort-firstPort)
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.FormatInt(port, 10)))
		if err == nil {
			return listener
		}
	}
	t.Fatalf("no port from %d to %d is free", firstPort, endPort-1)
	return nil
}
