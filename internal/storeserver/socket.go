package storeserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"linkledger/events/embedded"
)

// socketName is the name of the Unix socket on which the process of a running store answers the
// commands stat, check and backup. They need the socket because the process locks the store, so
// that no other process can open it. Only the owner of the folder can connect to the socket.
const socketName = "admin.sock"

// Stat is the printed form of the state of a store.
type Stat struct {
	Running       bool   `json:"running"`
	Events        uint64 `json:"events"`
	Streams       uint64 `json:"streams"`
	Head          uint64 `json:"head"` // position of the last event
	DiskBytes     uint64 `json:"disk_bytes"`
	Subscriptions int    `json:"subscriptions"`
	Failure       string `json:"failure,omitempty"` // why no writes are accepted
}

func newStat(st embedded.Stat, running bool) Stat {
	shown := Stat{
		Running: running, Events: st.Events, Streams: st.Streams, Head: st.Head,
		DiskBytes: st.DiskBytes, Subscriptions: st.Subscriptions,
	}
	if st.Failure != nil {
		shown.Failure = st.Failure.Error()
	}
	return shown
}

// frozen is a state of a running store from which a backup is made.
type frozen struct {
	Folder string `json:"folder"` // within the data folder
}

// socketServer serves the socket of a running store.
type socketServer struct {
	server  *http.Server
	serving sync.WaitGroup
}

func serveSocket(
	ctx context.Context, store func() *embedded.Store, folder string,
) (*socketServer, error) {
	path := filepath.Join(folder, socketName)
	// This process holds the lock of the folder, so an existing socket is left from a killed
	// process.
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	config := net.ListenConfig{Control: ownerOnlySocket}
	listener, err := config.Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /stat", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, newStat(store().Stat(), true), nil)
	})
	mux.HandleFunc("POST /check", func(w http.ResponseWriter, r *http.Request) {
		checked, err := store().Check(r.Context())
		writeJSON(w, checked, err)
	})
	mux.HandleFunc("POST /freeze", func(w http.ResponseWriter, r *http.Request) {
		freeze(w, r, store())
	})
	a := &socketServer{server: &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}}
	// The server ends with stop, which also removes the socket.
	a.serving.Go(func() { _ = a.server.Serve(listener) })
	return a, nil
}

// ownerOnlySocket gives a Unix socket, before it appears, a mode that lets only its owner connect,
// independent of the umask.
func ownerOnlySocket(_, _ string, connection syscall.RawConn) error {
	var failed error
	err := connection.Control(func(fd uintptr) { failed = syscall.Fchmod(int(fd), 0o600) })
	return errors.Join(err, failed)
}

// stop ends the calls in flight. It does nothing if a is nil, as for a store that could not open
// the socket.
func (a *socketServer) stop() {
	if a == nil {
		return
	}
	_ = a.server.Close() // a connection that fails to close ends with the process
	a.serving.Wait()
}

// freeze answers with the present state, and keeps this state until the client closes the
// connection. The connection also closes when the client's process ends.
func freeze(w http.ResponseWriter, r *http.Request, store *embedded.Store) {
	folder, release, err := store.Freeze()
	writeJSON(w, frozen{Folder: folder}, err)
	if err != nil {
		return
	}
	_ = http.NewResponseController(w).Flush() // an error means that the client has left
	<-r.Context().Done()
	_ = release() // remaining files are removed when the store is opened
}

func writeJSON(w http.ResponseWriter, value any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // an error means that the client has left
}

// callSocket calls the process that runs the store in a folder.
func callSocket[T any](ctx context.Context, folder, method, path string) (answer T, err error) {
	answer, end, err := openCall[T](ctx, folder, method, path)
	if err == nil {
		end()
	}
	return answer, err
}

// openCall is like callSocket, but the call stays open until end is called.
func openCall[T any](
	ctx context.Context, folder, method, path string,
) (answer T, end func(), err error) {
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var dialer net.Dialer
			return dialer.DialContext(ctx, "unix", filepath.Join(folder, socketName))
		},
		DisableKeepAlives: true,
	}}
	request, err := http.NewRequestWithContext(ctx, method, "http://eventstore"+path, nil)
	if err != nil {
		return answer, nil, err
	}
	response, err := client.Do(request) //nolint:bodyclose // end closes it
	if err != nil {
		return answer, nil, fmt.Errorf(
			"ask the process that runs the event store in %s: %w; or stop that process", folder,
			err,
		)
	}
	if response.StatusCode == http.StatusOK {
		if err = json.NewDecoder(response.Body).Decode(&answer); err == nil {
			return answer, func() { _ = response.Body.Close() }, nil // ends the call
		}
	} else {
		var message []byte
		if message, err = io.ReadAll(io.LimitReader(response.Body, 64<<10)); err == nil {
			err = errors.New(string(bytes.TrimSpace(message)))
		}
	}
	return answer, nil, errors.Join(err, response.Body.Close())
}
