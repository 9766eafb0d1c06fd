package linklist

import (
	"testing"

	"go.uber.org/goleak"

	"linkledger/internal/pgserver/postgrestest"
	"linkledger/internal/soak"
	"linkledger/queries"
	"linkledger/queries/queriestest"
)

func TestMain(m *testing.M) {
	soak.Checks(25, 200)
	goleak.VerifyTestMain(postgrestest.Main{M: m})
}

// world is a read model with its readers.
type world struct {
	*queriestest.World

	q     *queries.DB
	lists *Reader
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := queriestest.NewWorld(t)
	return &world{w, queries.New(w.DB), New(w.DB)}
}
