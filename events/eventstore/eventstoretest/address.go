package eventstoretest

import (
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// Operating systems assign ports from 32768 (Linux) or 49152 upwards. While the server of a test is
// stopped or not started yet, such a port may become the local port of any connection. Tests
// therefore use lower ports.
const (
	firstPort = 10240
	endPort   = 32768
	slotPorts = 512
	slots     = (endPort - firstPort) / slotPorts
)

var lastPort atomic.Int64

// slot reserves a range of ports for this process by listening on the first one, because the tests
// of several packages run at the same time.
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

// Listen opens a local port that other processes do not get by chance after it is closed. A test
// may therefore stop a server and restart it there, or use the address before the server starts.
func Listen(t testing.TB) net.Listener {
	t.Helper()
	first, err := slot()
	if err != nil {
		t.Fatal(err)
	}
	address, ok := first.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatalf("%v is not a TCP address", first.Addr())
	}
	for range slotPorts {
		port := address.Port + 1 + int(lastPort.Add(1)%(slotPorts-1))
		if listener, err := listen(port); err == nil {
			return listener
		}
	}
	t.Fatal("no port is free")
	return nil
}
