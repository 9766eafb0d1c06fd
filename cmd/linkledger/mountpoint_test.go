package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"linkledger/commands/clicks/spool"
	"linkledger/events/embedded/storage"
	"linkledger/internal/pgserver"
)

// TestMountPointsAreNotFilled names folders on disks that are not mounted. Nothing is written below
// their mount points, and the error names the folder.
func TestMountPointsAreNotFilled(t *testing.T) {
	t.Parallel()
	store := filepath.Join(t.TempDir(), "events")
	s, err := storage.Open(storage.Config{Dir: store})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	program := func(args ...string) func(string) error {
		return func(folder string) error {
			var out bytes.Buffer
			return run(t.Context(), append(args, folder), nil, &out, &out)
		}
	}
	for name, use := range map[string]func(folder string) error{
		"dev": program(
			"dev", "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--eventstore-listen=127.0.0.1:0", "--data",
		),
		"event store": program("eventstore", "--listen=127.0.0.1:0", "--data"),
		"backup":      program("eventstore", "backup", store),
		"spool":       func(folder string) error { _, err := spool.Open(spool.Config{Dir: folder}); return err },
		"PostgreSQL": func(folder string) error {
			_, err := pgserver.Start(t.Context(), pgserver.Config{Dir: folder})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mountPoint := t.TempDir()
			err := use(filepath.Join(mountPoint, "disk", "folder"))
			if err == nil || !strings.Contains(err.Error(), filepath.Join(mountPoint, "disk")) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("%v", err)
			}
			if _, err := os.Lstat(filepath.Join(mountPoint, "disk")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("it was made: %v", err)
			}
		})
	}
}

// TestDefaultFolderIsMade starts where there is no folder of data yet.
func TestDefaultFolderIsMade(t *testing.T) {
	parent := t.TempDir()
	t.Chdir(parent)
	for range 2 {
		if err := makeDefaultFolder(defaultEvents, defaultEvents); err != nil {
			t.Fatal(err)
		}
	}
	if err := makeDefaultFolder("other/events", defaultEvents); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir("."); err != nil || len(left) != 1 || left[0].Name() != "data" {
		t.Errorf("%v, %v", left, err)
	}
}
