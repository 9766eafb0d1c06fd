package controlschema_test

import (
	"testing"

	"github.com/google/uuid"

	"linkledger/projections/projectionstest"
)

// TestLog checks that a database keeps the id of the first log that it is given.
func TestLog(t *testing.T) {
	t.Parallel()
	db, ctx := migrated(t), projectionstest.Context(t)
	first, other := uuid.New(), uuid.New()
	for _, step := range []struct {
		name        string
		given, want uuid.UUID
	}{
		{"none is stored", uuid.Nil, uuid.Nil},
		{"the first one", first, first},
		{"another one", other, first},
		{"the first one again", first, first},
		{"none is given", uuid.Nil, first},
	} {
		if got, err := db.Log(ctx, step.given); err != nil || got != step.want {
			t.Errorf("%s: the log is %s, %v; want %s", step.name, got, err, step.want)
		}
	}
}
