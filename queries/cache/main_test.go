package cache

import (
	"testing"

	"go.uber.org/goleak"

	"linkledger/internal/pgserver/postgrestest"
	"linkledger/queries"
	"linkledger/queries/progress"
	"linkledger/queries/queriestest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Main{M: m}) }

// world is a read model with its readers.
type world struct {
	*queriestest.World

	q *queries.DB
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := queriestest.NewWorld(t)
	return &world{w, queries.New(w.DB)}
}

func mustWait(t *testing.T, f *progress.Waiter, projection string, position uint64) {
	t.Helper()
	if err := f.Wait(queriestest.WithTimeout(t), projection, position); err != nil {
		t.Fatalf("wait for %s at %d: %v", projection, position, err)
	}
}
