package engine_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"linkledger/events/eventstore/eventstoretest"
	"linkledger/internal/pgserver/bouncertest"
	"linkledger/internal/pgserver/postgrestest"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/projections/engine/status"
	"linkledger/projections/projectionstest"
)

// severing is a network before PostgreSQL that can lose all connections in the middle of a batch, without closing them.
type severing struct {
	net.Listener

	mu     sync.Mutex
	armed  bool
	lost   chan struct{} // closed when the connections are lost
	checks map[string]bool
}

// severed starts a network in front of a server until the test ends.
func severed(t *testing.T, network, address string) *severing {
	t.Helper()
	s := &severing{lost: make(chan struct{}), checks: make(map[string]bool)}
	s.Listener = eventstoretest.Forward(t, network, address, func(client, server net.Conn) (there, back func()) {
		return func() { s.messages(server, client) }, func() { s.answers(client, server) }
	})
	return s
}

func (s *severing) isLost() bool {
	select {
	case <-s.lost:
		return true
	default:
		return false
	}
}

// answers forwards what the server sends until the connections are lost.
func (s *severing) answers(client, server net.Conn) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := server.Read(buffer)
		if n > 0 && !s.isLost() {
			_, _ = client.Write(buffer[:n])
		}
		if err != nil {
			if !s.isLost() {
				_ = client.Close()
			}
			return
		}
	}
}

// messages forwards the messages of a client. The connections are lost after the message that moves the checkpoint of
// links, before the one that ends the pipeline.
func (s *severing) messages(server, client net.Conn) {
	from := bufio.NewReader(client)
	begun, moves := false, false
	for {
		head := make([]byte, 4)
		var kind byte
		var err error
		if begun {
			kind, err = from.ReadByte()
		}
		if err == nil {
			_, err = io.ReadFull(from, head)
		}
		if err != nil {
			if !s.isLost() {
				_ = server.Close()
			}
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(head)-4)
		if _, err := io.ReadFull(from, body); err != nil {
			return
		}
		if s.isLost() {
			continue
		}
		message := append(append([]byte{kind}, head...), body...)
		if !begun {
			message, begun = message[1:], true
		}
		switch kind {
		case 'P': // Parse
			name, text, _ := bytes.Cut(body, []byte{0})
			if bytes.Contains(text, []byte("SET commit_pos")) {
				s.mu.Lock()
				s.checks[string(name)] = true
				s.mu.Unlock()
			}
		case 'B': // Bind
			_, rest, _ := bytes.Cut(body, []byte{0})
			name, _, _ := bytes.Cut(rest, []byte{0})
			s.mu.Lock()
			moves = moves || s.armed && s.checks[string(name)] && bytes.Contains(rest, []byte("\x00\x05links"))
			s.mu.Unlock()
		case 'S': // Sync
			s.mu.Lock()
			if moves && s.armed {
				s.armed = false
				close(s.lost)
			}
			moves = false
			s.mu.Unlock()
			if s.isLost() {
				continue
			}
		}
		_, _ = server.Write(message)
	}
}

// TestOwnerIsLostInABatch loses the owner of all projections while PostgreSQL waits for the rest of its messages, with the
// checkpoint locked. Another process goes on soon, also if PgBouncer keeps the connection to PostgreSQL.
func TestOwnerIsLostInABatch(t *testing.T) {
	t.Parallel()
	for name, pooled := range map[string]bool{"direct": false, "PgBouncer": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := postgrestest.NewDatabase(t)
			far := dsn
			if pooled {
				far = bouncertest.Start(t, dsn, "default_pool_size = 60")
			}
			at, err := pgconn.ParseConfig(far)
			if err != nil {
				t.Fatal(err)
			}
			proto, address := pgconn.NetworkAddress(at.Host, at.Port)
			network := severed(t, proto, address)
			db := projectionstest.OpenAt(t, "postgres://"+at.User+"@"+network.Addr().String()+"/"+at.Database+"?sslmode=disable")
			direct := projectionstest.OpenAt(t, dsn)
			if err := projectionstest.Prepare(projectionstest.Context(t), direct); err != nil {
				t.Fatal(err)
			}
			store := eventstoretest.New(t)
			w, first, second := projectionstest.NewWriter(t, store), projectionstest.NewProgress(), projectionstest.NewProgress()
			former, board := &status.Registry{}, &status.Registry{}
			projectionstest.Run(t, engine.Config{DB: db, Store: store, OnCommit: first.Advance, Owner: "first", Registry: former})
			projectionstest.AwaitStatus(t, former, func(s status.Status) bool { return s.Owned })
			account := w.Account()
			_, position := w.Link(account, "a")
			first.Wait(t, position, projections.Links, projections.Tree, projections.History)
			projectionstest.Run(t, engine.Config{DB: direct, Store: store, OnCommit: second.Advance, Owner: "second", Registry: board})
			projectionstest.AwaitStatus(t, board, func(s status.Status) bool { return !s.Owned && s.Serving && s.Err == nil })

			network.mu.Lock()
			network.armed = true
			network.mu.Unlock()
			w.Link(account, "b")
			<-network.lost
			began := time.Now()
			_ = network.Close() // no new connections either
			// The former owner may have brought the others to the link before.
			_, position = w.Link(account, "c")
			second.Wait(t, position, projections.Links, projections.Tree, projections.History)
			t.Logf("another process has gone on after %s", time.Since(began).Round(100*time.Millisecond))
		})
	}
}
