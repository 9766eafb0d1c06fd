package eventstoretest

import (
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// Ports that systems give out by themselves start at 32768 (Linux) or 49152. One of those may
// become the other end of any connection while the server that a test had there is stopped, or not
// started yet.
const (
	firstPort = 10240
	endPort   = 32768
	slotPorts = 512
	slots     = (endPort - firstPort) / slotPorts
)

var lastPort atomic.Int64

// slot listens on the first of the ports that are this process's own as long as it lives: tests of
// several packages run at the same time.
var slot = sync.OnceValues(func() (listener net.Listener, err error) {
	for i := range slots {
		if listener, err = listen(firstPort + (os.Getpid()+i)%slots*slotPorts); err == nil {
			return listener, nil
		}
	}
	return nil, err
})

func listen(port int) (net.Listener, error) {
	return net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}

// Listen opens a port of this machine that nobody gets by chance once it is closed: a server may be
// stopped and started there again, or be told of it before it starts.
func Listen(t testing.TB) net.Listener {
	t.Helper()
	first, err := slot()
	if err != nil {
		t.Fatal(err)
	}
	for range slotPorts {
		port := first.Addr().(*net.TCPAddr).Port + 1 + int(lastPort.Add(1)%(slotPorts-1))
		if listener, err := listen(port); err == nil {
			return listener
		}
	}
	t.Fatal("no port is free")
	return nil
}
