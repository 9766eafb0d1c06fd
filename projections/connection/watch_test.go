package connection_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/goleak"

	"linkledger/events/eventstore/eventstoretest"
	"linkledger/internal/pgserver/postgrestest"
	"linkledger/projections/connection"
	"linkledger/waiting"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Main{M: m}) }

func silenced(t *testing.T, at *pgconn.Config) *eventstoretest.Silence {
	t.Helper()
	network, address := pgconn.NetworkAddress(at.Host, at.Port)
	return eventstoretest.Silenced(t, network, address)
}

// TestSilentDatabase drops what goes to and from a database. A call that waits is ended, further ones are refused at
// once, and all work again when the network does.
func TestSilentDatabase(t *testing.T) {
	t.Parallel()
	at, err := pgconn.ParseConfig(postgrestest.NewDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	network := silenced(t, at)
	dsn := "postgres://" + at.User + "@" + network.Addr().String() + "/" + at.Database + "?sslmode=disable"
	watch := connection.NewWatch(slog.New(slog.DiscardHandler))
	readers, writers, err := connection.OpenPools(t.Context(), dsn, 4, watch.Guard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		readers.Close()
		writers.Close()
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		watch.Run(ctx)
	}()
	defer func() {
		stop()
		<-ended
	}()
	ask := func() error {
		_, err := readers.Exec(ctx, "SELECT 1")
		return err
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	tx, err := writers.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	network.Begin()
	writing := make(chan error, 1)
	go func() {
		_, err := tx.Exec(ctx, "SELECT 1")
		writing <- errors.Join(err, tx.Rollback(ctx))
	}()
	waited, end := context.WithTimeout(ctx, 5*time.Minute) // the call has no end of its own
	defer end()
	var lost *waiting.LostError
	if _, err := readers.Exec(waited, "SELECT 1"); err == nil || waited.Err() != nil { // pgx hides the cause
		t.Fatalf("the call that waited: %v", err)
	}
	if err := <-writing; err == nil {
		t.Error("the transaction that waited has succeeded")
	}
	for range 100 { // each would wait for seconds
		if err := ask(); !errors.As(err, &lost) {
			t.Fatalf("a later call: %v", err)
		}
	}
	if _, err := pgx.ConnectConfig(ctx, readers.Config().ConnConfig); !errors.As(err, &lost) {
		t.Errorf("a connection outside the pools: %v", err)
	}
	network.End()
	for late := time.After(time.Minute); ask() != nil; {
		select {
		case <-late:
			t.Fatalf("the database answers: %v", ask())
		case <-time.After(20 * time.Millisecond):
		}
	}
}
