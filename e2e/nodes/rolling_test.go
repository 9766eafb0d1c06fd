package nodes_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"linkledger/e2e/e2etest"
	"linkledger/e2e/installtest"
	"linkledger/internal/programtest"
	"linkledger/projections"
	"linkledger/projections/readmodel"
)

// olderProgram builds the program with tags of another shape, which have one more index.
func olderProgram(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	source, err := filepath.Abs("../../projections/readmodel/tags.sql")
	if err != nil {
		t.Fatal(err)
	}
	tables, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	older, overlay := filepath.Join(folder, "tags.sql"), filepath.Join(folder, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {source: older}})
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{
		older: string(tables) + "\nCREATE INDEX tags_older ON ?schema.tags (label);\n", overlay: string(replace),
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	binary := filepath.Join(folder, "linkledger")
	if err := programtest.Build(binary, "-overlay", overlay); err != nil {
		t.Fatal(err)
	}
	return binary
}

// TestRollingDeploy starts a version with tags of another shape beside an older one. The older
// version must serve from its own tables until the newer one has built its tables and takes over.
// Then both continue, and the older version's tables are kept for a rollback.
func TestRollingDeploy(t *testing.T) {
	t.Parallel()
	i := installtest.InstallProgram(t, olderProgram(t))
	db, err := readmodel.Open(t.Context(), i.Database.DSN(), 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	makeTag(i, i.Base, "before")
	reader, err := db.BeginTx(t.Context(), nil) // while it reads, no version can take over
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reader.ExecContext(
		t.Context(), "SET LOCAL idle_in_transaction_session_timeout = 0; SELECT FROM linkledger.tags",
	); err != nil {
		t.Fatal(err)
	}

	i.Program = e2etest.Program
	newer := "http://" + installtest.FreeAddress(t)
	i.Serve(newer, "http://"+installtest.FreeAddress(t), "spool 2")
	i.Eventually("the newer version builds", func() bool { return tagGenerations(i, db) == "1 true\n2 false\n" })
	makeTag(i, i.Base, "meanwhile")
	if got := tagGenerations(i, db); got != "1 true\n2 false\n" {
		t.Errorf("generations while the newer version builds:\n%s", got)
	}
	if err := reader.Rollback(); err != nil {
		t.Fatal(err)
	}
	i.Eventually("the newer version takes over", func() bool { return tagGenerations(i, db) == "1 false\n2 true\n" })
	makeTag(i, newer, "after")
	makeTag(i, i.Base, "later")

	if out, log, code := e2etest.Command(t, append([]string{"projections", "verify", "--all"}, i.Backends()...)...); code != 0 {
		t.Errorf("verify ended with %d:\n%s%s", code, out, log)
	}
	out, log, code := e2etest.Command(t, append([]string{"projections", "rollback", projections.Tags}, i.Backends()...)...)
	if code != 0 || out != "generation 1 of tags serves\n" {
		t.Errorf("rollback ended with %d: %s%s", code, out, log)
	}
	makeTag(i, i.Base, "back")
	for _, label := range []string{"before", "meanwhile", "after", "later"} {
		awaitTag(i, i.Base, label)
	}
}

// tagGenerations lists the generations of the tags and whether each one serves.
func tagGenerations(i *installtest.Installation, db *readmodel.DB) string {
	i.T.Helper()
	var lines string
	if err := db.NewRaw(`SELECT coalesce(string_agg(concat(generation, ' ', serving::text, chr(10)), '' ORDER BY generation), '')
		FROM linkledger.generations WHERE name = 'tags'`).Scan(i.T.Context(), &lines); err != nil {
		i.T.Fatal(err)
	}
	return lines
}

// makeTag creates a tag and checks that a read shows it.
func makeTag(i *installtest.Installation, base, label string) {
	i.T.Helper()
	if _, err := e2etest.Call(i.T.Context(), base, i.Key, "POST", "/tags", fmt.Sprintf(`{"label":%q}`, label)); err != nil {
		i.T.Fatal(err)
	}
	awaitTag(i, base, label)
}

func awaitTag(i *installtest.Installation, base, label string) {
	i.T.Helper()
	i.Eventually("the tag "+label+" is listed", func() bool {
		tags, err := e2etest.Call(i.T.Context(), base, i.Key, "GET", "/tags", "")
		if err != nil {
			i.T.Fatal(err)
		}
		return strings.Contains(fmt.Sprint(tags), label)
	})
}
