package projections_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"linkledger/internal/pgserver/postgrestest"
	"linkledger/projections/projectionstest"
)

// TestReleasedNames checks that no table or view has the name of another thing of a released
// version. Databases of that version, and its processes that still run, have that thing.
func TestReleasedNames(t *testing.T) {
	t.Parallel()
	lists, err := filepath.Glob("../e2e/testdata/upgrade/*/relations.txt")
	if err != nil || len(lists) == 0 {
		t.Fatalf("no lists of released names: %v", err)
	}
	conn, err := pgx.Connect(projectionstest.Context(t), projectionstest.NewDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	now, err := postgrestest.Relations(projectionstest.Context(t), conn)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(projectionstest.Context(t)); err != nil {
		t.Fatal(err)
	}
	// The view migrations shows nothing: it refuses the programs that read the former table.
	maps.DeleteFunc(now, func(_, what string) bool { return what == "view of nothing" })
	for _, list := range lists {
		released, err := os.ReadFile(list)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(released)) {
			name, what, _ := strings.Cut(strings.TrimSpace(line), ": ")
			if is, taken := now[name]; taken && is != what {
				t.Errorf("%s: %s was a %s, and is a %s: choose another name", list, name, what, is)
			}
		}
	}
}
