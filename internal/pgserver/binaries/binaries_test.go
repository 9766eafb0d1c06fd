package binaries

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestParseMajor(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)\n": 15,
		"postgres (PostgreSQL) 17devel\n":                        17,
		"postgres (PostgreSQL) 16\n":                             16,
	} {
		if got, err := parseMajor(text); err != nil || got != want {
			t.Errorf("%q: got %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "mysqld 8.0", "postgres (PostgreSQL) new"} {
		if _, err := parseMajor(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func TestLibrariesOfUnpackedPackages(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	libs := filepath.Join(root, "usr/lib/x86_64-linux-gnu")
	bin := filepath.Join(root, "usr/lib/postgresql/17/bin")
	for _, dir := range []string{libs, bin} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if got := (Installation{Bin: bin}).libraries(); len(got) != 1 || got[0] != libs {
		t.Errorf("got %v, want %s", got, libs)
	}
	if got := (Installation{Bin: "/usr/lib/postgresql/17/bin"}).libraries(); got != nil {
		t.Errorf("installed packages need no folders, got %v", got)
	}
}

// TestFind checks which binaries run a cluster.
func TestFind(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	program := "#!/bin/sh\necho 'postgres (PostgreSQL) 17.2'\n"
	for _, name := range []string{"initdb", "postgres"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(program), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cluster := t.TempDir()
	find := func(ctx context.Context) (Installation, error) { return Find(ctx, bin, cluster) }
	if got, err := find(t.Context()); err != nil || got != (Installation{Bin: bin, Major: 17}) {
		t.Errorf("without a cluster: %+v, %v", got, err)
	}
	for made, want := range map[string]error{"17\n": nil, "16\n": ErrOtherVersion} {
		if err := os.WriteFile(filepath.Join(cluster, "PG_VERSION"), []byte(made), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := find(t.Context()); !errors.Is(err, want) {
			t.Errorf("a cluster of %q: %v, want %v", made, err, want)
		}
	}
	if _, err := Find(t.Context(), cluster, bin); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("a folder without binaries: %v", err)
	}
}
