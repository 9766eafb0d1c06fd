package pgserver

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"linkledger/internal/pgserver/binaries"
)

// wantStartError checks that a start fails with one line that contains the texts.
func wantStartError(t *testing.T, cfg Config, sentinel error, texts ...string) {
	t.Helper()
	s, err := Start(t.Context(), cfg)
	if err == nil {
		stop(t, s)
		t.Fatal("the start succeeded")
	}
	if sentinel != nil && !errors.Is(err, sentinel) {
		t.Errorf("got %v, want %v", err, sentinel)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q does not contain %q", err, text)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than one line: %q", err)
	}
}

func TestMissingBinaries(t *testing.T) {
	t.Parallel()
	cfg := Config{Dir: t.TempDir(), BinDir: t.TempDir()}
	wantStartError(t, cfg, binaries.ErrNotInstalled, "apt-get install postgresql", "LINKLEDGER_POSTGRES_BIN", cfg.BinDir)
}

func TestOldBinaries(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	script := "#!/bin/sh\necho 'postgres (PostgreSQL) 13.4'\n"
	for _, program := range []string{"initdb", "postgres"} {
		if err := os.WriteFile(filepath.Join(bin, program), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	wantStartError(t, Config{Dir: t.TempDir(), BinDir: bin}, binaries.ErrNotInstalled, "is PostgreSQL 13")
}

func TestOtherVersion(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	cluster := filepath.Join(dir, "cluster")
	if err := os.MkdirAll(cluster, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(cluster, "PG_VERSION"), []byte("9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantStartError(t, config(dir), binaries.ErrOtherVersion, "made by PostgreSQL 9", "is PostgreSQL ", "install PostgreSQL 9")
}

func TestNoFolder(t *testing.T) {
	t.Parallel()
	wantStartError(t, config(""), nil, "no data folder given")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantStartError(t, config(file), syscall.ENOTDIR, "choose one that you may write")
}

// TestFailedStartShowsLog checks that a server that cannot start reports the reason and releases
// the folder.
func TestFailedStartShowsLog(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	stop(t, start(t, config(dir)))
	conf := filepath.Join(dir, "cluster", "postgresql.conf")
	good, err := os.ReadFile(conf)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(conf, append(good, "shared_bufers = 1MB\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	wantStartError(t, config(dir), nil, "ended by itself", `"shared_bufers"`)
	if err := os.WriteFile(conf, good, 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, config(dir))
}

// TestReleaseWhileAProcessStarts checks that a released folder can be opened, even while a process
// that was just forked still holds the inherited lock.
func TestReleaseWhileAProcessStarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := openFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	inherited, err := syscall.Dup(int(f.lock.Fd())) // as by fork
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(inherited) })
	f.release()
	if f, err = openFolder(dir); err != nil {
		t.Fatal(err)
	}
	f.release()
}

func TestCancelledStart(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := dataDir(t)
	if _, err := Start(ctx, config(dir)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's cause", err)
	}
	start(t, config(dir))
}

func TestServerLog(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	l := &serverLog{logger: slog.New(slog.NewTextHandler(&out, nil))}
	for _, piece := range []string{
		"LOG:  qui", "et\nPANIC:  no ", "room\nDETAIL:  none\n", strings.Repeat("x", maxLine+1),
	} {
		if _, err := l.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	text := out.String()
	if strings.Contains(text, "quiet") || strings.Count(text, "level=ERROR") != 3 ||
		!strings.Contains(text, "PANIC:  no room") {
		t.Errorf("got %.200s", text)
	}
	if got := l.tail(); !strings.HasPrefix(got, ": LOG:  quiet | PANIC:  no room | DETAIL:  none | x") {
		t.Errorf("tail %.100s", got)
	}
}
