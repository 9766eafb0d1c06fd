package queries

import (
	"testing"

	"go.uber.org/goleak"

	"linkledger/internal/pgserver/postgrestest"
	"linkledger/queries/queriestest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Main{M: m}) }

// world is a read model with its readers.
type world struct {
	*queriestest.World

	q *DB
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := queriestest.NewWorld(t)
	return &world{w, New(w.DB)}
}
