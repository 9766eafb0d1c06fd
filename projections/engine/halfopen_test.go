package engine_test

import (
	"context"
	"net"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/internal/pgserver/postgrestest"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/projections/projectionstest"
)

// halving is a network that loses connections without closing them: both ends take them for open.
type halving struct {
	net.Listener

	accepted, lost atomic.Int64 // numbers of connections, from 1 on
}

// between starts a network in front of a server until the test ends.
func between(t *testing.T, network, address string) *halving {
	t.Helper()
	h := &halving{}
	h.Listener = eventstoretest.Forward(t, network, address, func(client, server net.Conn) (there, back func()) {
		number := h.accepted.Add(1)
		return func() { h.forward(server, client, number) }, func() { h.forward(client, server, number) }
	})
	return h
}

// forward copies what one end sends until the connection is lost. From then on it reads on and forwards nothing.
func (h *halving) forward(to, from net.Conn, number int64) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if number <= h.lost.Load() {
			if err != nil {
				return
			}
			continue
		}
		if n > 0 {
			_, _ = to.Write(buffer[:n])
		}
		if err != nil {
			_ = to.Close()
			return
		}
	}
}

// lose loses all connections so far.
func (h *halving) lose() { h.lost.Store(h.accepted.Load()) }

// TestHalfOpenConnections loses the connections to the event store, to the database, or to both, while they are idle. All
// projections go on within a minute.
func TestHalfOpenConnections(t *testing.T) {
	t.Parallel()
	for name, loses := range map[string]struct{ store, database bool }{
		"event store": {store: true}, "database": {database: true}, "both": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := postgrestest.NewDatabase(t)
			at, err := pgconn.ParseConfig(dsn)
			if err != nil {
				t.Fatal(err)
			}
			direct := projectionstest.OpenAt(t, dsn)
			server := eventstoretest.Serve(t)
			of, err := url.Parse(server.URL())
			if err != nil {
				t.Fatal(err)
			}
			network, address := pgconn.NetworkAddress(at.Host, at.Port)
			toDatabase, toStore := between(t, network, address), between(t, "tcp", of.Host)
			db := projectionstest.OpenAt(t, "postgres://"+at.User+"@"+toDatabase.Addr().String()+"/"+at.Database+"?sslmode=disable")
			if err := projectionstest.Prepare(projectionstest.Context(t), db); err != nil {
				t.Fatal(err)
			}
			written := eventstoretest.Open(t, server.URL())
			w, progress := projectionstest.NewWriter(t, written), projectionstest.NewProgress()
			store := eventstoretest.Open(t, "esdb://"+toStore.Addr().String()+"?tls=false")
			projectionstest.Run(t, engine.Config{DB: db, Store: store, OnCommit: progress.Advance})
			account := w.Account()
			_, last := w.Link(account, "h")
			progress.Wait(t, last, projections.Names()...)
			if loses.store {
				toStore.lose()
			}
			if loses.database {
				toDatabase.lose()
			}
			_, last = w.Link(account, "i")
			within, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for _, projection := range projections.Names() {
				if err := projections.Await(within, direct, written, projection, eventstore.Position{Commit: last}); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
