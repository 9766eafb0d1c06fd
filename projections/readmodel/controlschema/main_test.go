package controlschema_test

import (
	"testing"

	"linkledger/internal/pgserver/postgrestest"
	"linkledger/projections/projectionstest"
	"linkledger/projections/readmodel"
)

func TestMain(m *testing.M) { projectionstest.Main(m) }

// migrated returns a database with the control schema.
func migrated(t *testing.T) *readmodel.DB {
	t.Helper()
	db := projectionstest.OpenAt(t, postgrestest.NewDatabase(t))
	if err := db.Locked(projectionstest.Context(t), db.Migrate); err != nil {
		t.Fatal(err)
	}
	return db
}
