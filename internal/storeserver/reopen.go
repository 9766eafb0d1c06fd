package storeserver

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"linkledger/events/embedded"
	"linkledger/events/embedded/disk"
)

// A store accepts no more writes after its disk has failed a commit. Its events can still be read.
// As soon as the disk works again, the store is closed and opened again, on the same address.

// probeInterval is how often a disk that has failed is tried.
const probeInterval = time.Second

// run serves a store. When the disk has failed and works again, run opens the store again and
// serves it. It returns after Stop, or if serving fails.
func (r *Server) run(store *embedded.Store) error {
	for {
		listener, err := copyOf(r.listener)
		if err != nil {
			return err
		}
		served := make(chan error, 1)
		go func() { served <- store.Serve(listener) }()
		select {
		case err := <-served:
			return err
		case <-store.Failed():
		}
		if !r.retry(r.probe) {
			return <-served
		}
		// Close returns the failure of the store, which is in the log already.
		_ = store.Close()
		if err := <-served; err != nil {
			return err
		}
		if store = r.reopen(); store == nil {
			return nil
		}
		r.config.Logger.Info("the disk of the event store works again, and writes are accepted")
	}
}

// reopen opens the store and makes it the current one. It returns nil after Stop.
func (r *Server) reopen() (store *embedded.Store) {
	r.retry(func() (err error) {
		if store, err = embedded.Open(r.config); err != nil {
			r.config.Logger.Error("the event store cannot be opened again", slog.Any("error", err))
		}
		return err
	})
	if store == nil {
		return nil
	}
	dial := store.Dialer()
	r.mu.Lock()
	r.store, r.dial = store, dial
	r.mu.Unlock()
	if r.stopping.Err() != nil { // Stop may have closed the former store
		_ = store.Close()
		return nil
	}
	return store
}

// retry repeats an attempt until it succeeds. It returns false if Stop is called before that.
func (r *Server) retry(attempt func() error) bool {
	ticker := time.NewTicker(probeInterval)
	defer ticker.Stop()
	for attempt() != nil {
		select {
		case <-ticker.C:
		case <-r.stopping.Done():
			return false
		}
	}
	return true
}

// probe returns nil if the disk of the store takes writes.
func (r *Server) probe() error {
	fsys := r.config.FS
	if fsys == nil {
		fsys = vfs.Default
	}
	return disk.Probe(r.config.Dir, fsys, r.config.Spare)
}

// copyOf returns a second listener on the same open address. The first one stays open when the
// second is closed, so clients that connect in the meantime wait.
func copyOf(listener net.Listener) (_ net.Listener, err error) {
	open, ok := listener.(interface{ File() (*os.File, error) })
	if !ok {
		return nil, fmt.Errorf("cannot serve on a %T", listener)
	}
	file, err := open.File()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return net.FileListener(file)
}
