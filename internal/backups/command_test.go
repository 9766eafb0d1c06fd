package backups

import (
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"linkledger/internal/console"
	"linkledger/internal/installation"
	"linkledger/internal/pgserver/postgrestest"
	"linkledger/internal/secret"
	"linkledger/internal/usage"
)

// operate runs a command on the database with a connection string, or on none, and decodes what it prints.
func operate(t *testing.T, dsn, data string, into any, run func(installation.Operator) error) error {
	t.Helper()
	var out strings.Builder
	o := installation.Operator{
		Installation: &installation.Installation{Data: data, Program: "v"},
		Console:      console.New(&out, &out), JSON: true,
	}
	o.Database, o.Sealing, o.Logger = secret.Connection(dsn), sealing, slog.New(slog.DiscardHandler)
	if err := run(o); err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(out.String()), into); err != nil {
		t.Fatalf("%v in %s", err, &out)
	}
	return nil
}

// TestCommands makes a backup and restores it as an operator does: to a database and the folder of an event store, and
// to a data folder of dev. The commands print what the backup has.
func TestCommands(t *testing.T) {
	t.Parallel()
	p := newPlace(t, sealing)
	parent := t.TempDir()
	folder := filepath.Join(parent, "backups")
	var made struct{ Events uint64 }
	if err := operate(t, p.dsn, "", &made, func(o installation.Operator) error {
		return Command(t.Context(), o, Wanted{Folder: folder, Events: p.source.Events, Keep: 3})
	}); err != nil || made.Events < 5 {
		t.Fatalf("made %+v, %v", made, err)
	}
	for name, tc := range map[string]struct{ dsn, data, events, fails string }{
		"to an event store":     {postgrestest.NewDatabase(t), "", filepath.Join(parent, "events"), ""},
		"to a data folder":      {"", filepath.Join(parent, "data"), "", ""},
		"without a folder":      {p.dsn, "", "", "--events"},
		"without a database":    {"", "", filepath.Join(parent, "none"), "--database"},
		"to a used database":    {p.dsn, "", filepath.Join(parent, "used"), "is not empty"},
		"to a used data folder": {"", parent, "", "is not empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var restored Restored
			err := operate(t, tc.dsn, tc.data, &restored, func(o installation.Operator) error {
				return RestoreCommand(t.Context(), o, folder, tc.events)
			})
			if tc.fails != "" {
				if !usage.Is(err) || !strings.Contains(err.Error(), tc.fails) {
					t.Errorf("the command returns %v, want %q in it", err, tc.fails)
				}
				return
			}
			if err != nil || restored.Events != made.Events || restored.Keys == 0 || restored.Version != "v" ||
				!strings.HasPrefix(restored.Backup, folder) {
				t.Errorf("restored %+v, %v; want %d events", restored, err, made.Events)
			}
		})
	}
}
