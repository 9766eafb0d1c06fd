// This file reaches the database of an installation.

package installtest

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"linkledger/e2e/e2etest"
	"linkledger/events/eventstore/eventstoretest"
)

// Call sends an API request, which must succeed.
func (i *Installation) Call(method, path, body string) {
	i.T.Helper()
	if _, err := e2etest.Call(i.T.Context(), i.Base, i.Key, method, path, body); err != nil {
		i.T.Fatal(err)
	}
}

// ConnectTo connects to a database until the test ends.
func (i *Installation) ConnectTo(dsn string) *pgx.Conn {
	i.T.Helper()
	conn, err := pgx.Connect(i.T.Context(), dsn)
	if err != nil {
		i.T.Fatal(err)
	}
	i.T.Cleanup(func() { _ = conn.Close(context.Background()) }) // the server may be gone
	return conn
}

// Exec runs one statement, which must succeed.
func (i *Installation) Exec(conn *pgx.Conn, statement string) {
	i.T.Helper()
	if _, err := conn.Exec(i.T.Context(), statement); err != nil {
		i.T.Fatal(err)
	}
}

// DSNThrough starts a network in front of the database of an installation. It returns the network
// and a DSN that connects through it.
func DSNThrough(t *testing.T, i *Installation) (network *eventstoretest.Silence, dsn string) {
	t.Helper()
	at, err := pgconn.ParseConfig(i.Database.DSN())
	if err != nil {
		t.Fatal(err)
	}
	proto, address := pgconn.NetworkAddress(at.Host, at.Port)
	network = eventstoretest.Silenced(t, proto, address)
	return network, "postgres://" + at.User + "@" + network.Addr().String() + "/" + at.Database + "?sslmode=disable"
}
