package pgserver_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"linkledger/internal/pgserver"
	"linkledger/internal/pgserver/binaries"
	"linkledger/internal/pgserver/postgrestest"
)

func reachable(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts PostgreSQL: run without -short")
	}
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "postgres")
}

// starts returns the major version of a server that starts and stops.
func starts(t *testing.T, cfg pgserver.Config, want ...string) (aside string) {
	t.Helper()
	cfg.Unsafe = true
	s, err := pgserver.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Error(err)
		}
	}()
	conn, err := pgx.Connect(t.Context(), s.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	for i := 0; i < len(want); i += 2 {
		var got string
		if err := conn.QueryRow(t.Context(), "SELECT current_setting($1)", want[i]).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(got, want[i+1]) {
			t.Errorf("%s is %q, want %q", want[i], got, want[i+1])
		}
	}
	return s.SetAside()
}

// major returns the version that has made a cluster.
func major(t *testing.T, cluster string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(cluster, "PG_VERSION"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// TestReplace starts another version of PostgreSQL on a folder, and returns to the first one.
func TestReplace(t *testing.T) {
	t.Parallel()
	dir := reachable(t)
	own, other := os.Getenv("LINKLEDGER_POSTGRES_BIN"), postgrestest.OtherBin(t)
	cluster := filepath.Join(dir, "cluster")
	starts(t, pgserver.Config{Dir: dir, BinDir: own})
	first := major(t, cluster)
	for _, replace := range []func(int, int) error{
		nil, func(int, int) error { return errors.New("the keys have no copy") },
	} {
		_, err := pgserver.Start(t.Context(), pgserver.Config{Dir: dir, BinDir: other, Replace: replace})
		if !errors.Is(err, binaries.ErrOtherVersion) || !strings.Contains(err.Error(), "made by PostgreSQL "+first) ||
			strings.Contains(err.Error(), "no copy") != (replace != nil) {
			t.Errorf("got %v", err)
		}
	}
	if now := major(t, cluster); now != first {
		t.Errorf("the cluster is of %s, want it as it was", now)
	}
	asked := 0
	agree := func(made, with int) error {
		if asked++; made == with || asked == 1 && strconv.Itoa(made) != first {
			t.Errorf("asked for %d with %d", made, with)
		}
		return nil
	}
	for round := range 3 {
		bin, name := other, "cluster-"+first
		if round%2 == 1 {
			bin, name = own, "cluster-"+major(t, cluster)
		}
		if round == 2 {
			name += ".2"
		}
		settings := map[string]string{"linkledger.test": "a \"b\" 'c'"}
		aside := starts(t, pgserver.Config{Dir: dir, BinDir: bin, Replace: agree, Settings: settings},
			"linkledger.test", settings["linkledger.test"])
		if filepath.Base(aside) != name {
			t.Errorf("set aside is %s, want %s", aside, name)
		}
		if again := starts(t, pgserver.Config{Dir: dir, BinDir: bin, Replace: agree}); again != "" {
			t.Errorf("set aside again: %s", again)
		}
	}
	if asked != 3 {
		t.Errorf("asked %d times", asked)
	}
}

// TestCopiedCluster starts on clusters whose owner or modes a copy has changed.
func TestCopiedCluster(t *testing.T) {
	t.Parallel()
	dir := reachable(t)
	bin := os.Getenv("LINKLEDGER_POSTGRES_BIN")
	starts(t, pgserver.Config{Dir: dir, BinDir: bin})
	for name, command := range map[string]string{
		"cp -r":         `cp -r "$0" "$1"`,
		"umask 0":       `umask 0; cp -r "$0" "$1"; chmod 777 "$1"/cluster`,
		"read-only":     `cp -r "$0" "$1"; chmod 500 "$1"/cluster`,
		"half given":    `cp -a "$0" "$1"; chown $(id -u) "$1"/cluster`,
		"linked inside": `cp -r "$0" "$1"; ln -s /etc/hosts "$1"/cluster/base/hosts; ln "$2" "$1"/cluster/base/named`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			copied := filepath.Join(filepath.Dir(reachable(t)), "copied")
			outside := filepath.Join(filepath.Dir(copied), "outside")
			if err := os.WriteFile(outside, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.CommandContext(t.Context(), "sh", "-c", command, dir, copied, outside).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			starts(t, pgserver.Config{Dir: copied, BinDir: bin})
			info, err := os.Stat(filepath.Join(copied, "cluster"))
			if err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("the cluster has %v, %v", info.Mode(), err)
			}
			for _, path := range []string{outside, "/etc/hosts"} {
				info, err := os.Stat(path)
				if err != nil {
					t.Fatal(err)
				}
				if owner := info.Sys().(*syscall.Stat_t).Uid; path == outside && int(owner) != os.Geteuid() || path != outside && owner != 0 {
					t.Errorf("%s belongs to %d", path, owner)
				}
			}
		})
	}
	if _, err := os.Lstat(filepath.Join(dir, "cluster", "postmaster.pid")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the first server runs")
	}
}
