package eventstoretest

import (
	"net"

	"github.com/cockroachdb/pebble/v2/vfs"

	"linkledger/events/embedded"
)

// Memory runs an event store in memory until stop is called. It is for examples, which have no
// [testing.TB]. It panics if the store does not start.
func Memory() (url string, stop func()) {
	server, err := embedded.Open(embedded.Config{Dir: "events", FS: vfs.NewMem()})
	if err != nil {
		panic(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // ends with Close
	}()
	return "esdb://" + listener.Addr().String() + "?tls=false", func() {
		_ = server.Close() // in memory, nothing is left
		<-served
	}
}
