package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"linkledger/projections"
	"linkledger/projections/readmodel"
)

// olderProgram builds the program with tags of another shape, which have one more index.
func olderProgram(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	source, err := filepath.Abs("../projections/readmodel/tags.sql")
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
	if err := build(binary, "-overlay", overlay); err != nil {
		t.Fatal(err)
	}
	return binary
}

// TestRollingDeploy starts a version with tags of another shape beside an older one. The older
// version must serve from its own tables until the newer one has built its tables and takes over.
// Then both continue, and the older version's tables are kept for a rollback.
func TestRollingDeploy(t *testing.T) {
	t.Parallel()
	i := installProgram(t, olderProgram(t))
	db, err := readmodel.Open(t.Context(), i.database.DSN(), 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	makeTag(i, i.base, "before")
	reader, err := db.BeginTx(t.Context(), nil) // while it reads, no version can take over
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reader.ExecContext(
		t.Context(), "SET LOCAL idle_in_transaction_session_timeout = 0; SELECT FROM linkledger.tags",
	); err != nil {
		t.Fatal(err)
	}

	i.program = program
	newer := "http://" + freeAddress(t)
	i.serve(newer, "http://"+freeAddress(t), "spool 2")
	i.eventually("the newer version builds", func() bool { return tagGenerations(i, db) == "1 true\n2 false\n" })
	makeTag(i, i.base, "meanwhile")
	if got := tagGenerations(i, db); got != "1 true\n2 false\n" {
		t.Errorf("generations while the newer version builds:\n%s", got)
	}
	if err := reader.Rollback(); err != nil {
		t.Fatal(err)
	}
	i.eventually("the newer version takes over", func() bool { return tagGenerations(i, db) == "1 false\n2 true\n" })
	makeTag(i, newer, "after")
	makeTag(i, i.base, "later")

	if out, log, code := command(t, append([]string{"projections", "verify", "--all"}, i.backends()...)...); code != 0 {
		t.Errorf("verify ended with %d:\n%s%s", code, out, log)
	}
	out, log, code := command(t, append([]string{"projections", "rollback", projections.Tags}, i.backends()...)...)
	if code != 0 || out != "generation 1 of tags serves\n" {
		t.Errorf("rollback ended with %d: %s%s", code, out, log)
	}
	makeTag(i, i.base, "back")
	for _, label := range []string{"before", "meanwhile", "after", "later"} {
		awaitTag(i, i.base, label)
	}
}

// tagGenerations lists the generations of the tags and whether each one serves.
func tagGenerations(i *installation, db *readmodel.DB) string {
	i.t.Helper()
	var lines string
	if err := db.NewRaw(`SELECT coalesce(string_agg(concat(generation, ' ', serving::text, chr(10)), '' ORDER BY generation), '')
		FROM linkledger.generations WHERE name = 'tags'`).Scan(i.t.Context(), &lines); err != nil {
		i.t.Fatal(err)
	}
	return lines
}

// makeTag creates a tag and checks that a read shows it.
func makeTag(i *installation, base, label string) {
	i.t.Helper()
	if _, err := call(i.t.Context(), base, i.key, "POST", "/tags", fmt.Sprintf(`{"label":%q}`, label)); err != nil {
		i.t.Fatal(err)
	}
	awaitTag(i, base, label)
}

func awaitTag(i *installation, base, label string) {
	i.t.Helper()
	i.eventually("the tag "+label+" is listed", func() bool {
		tags, err := call(i.t.Context(), base, i.key, "GET", "/tags", "")
		if err != nil {
			i.t.Fatal(err)
		}
		return strings.Contains(fmt.Sprint(tags), label)
	})
}
