package pgserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"linkledger/internal/pgserver/orphan"
)

// childDir makes the test binary act as a process that runs a server on the folder until it is
// killed.
const childDir = "TEST_CHILD_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		os.Exit(runChild(dir))
	}
	goleak.VerifyTestMain(m)
}

// runChild starts a server, prints its address, and waits for the end of the parent.
func runChild(dir string) int {
	s, err := Start(context.Background(), config(dir))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(s.DSN())
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

func config(dir string) Config {
	return Config{Dir: dir, BinDir: os.Getenv("LINKLEDGER_POSTGRES_BIN"), Unsafe: true}
}

// dataDir returns a folder that any user can reach, unlike the folders of [testing.T.TempDir]. Then
// root's tests need no capability except to change the user.
func dataDir(t *testing.T) string {
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

func start(t *testing.T, cfg Config) *Server {
	t.Helper()
	s, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, s) })
	return s
}

func stop(t *testing.T, s *Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 30*time.Second)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		t.Error(err)
	}
}

// query runs a statement and returns its only value, or an empty string if there is none.
func query(t *testing.T, dsn, statement string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	var value string
	err = conn.QueryRow(t.Context(), statement).Scan(&value)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		t.Fatalf("%s: %v", statement, err)
	}
	return value
}

func writeNote(t *testing.T, dsn string) {
	t.Helper()
	query(t, dsn, `CREATE TABLE note AS SELECT 'kept' AS text`)
}

func wantNote(t *testing.T, dsn string) {
	t.Helper()
	if got := query(t, dsn, `SELECT text FROM note`); got != "kept" {
		t.Errorf("got note %q, want it kept", got)
	}
}

func TestSharedBuffers(t *testing.T) {
	t.Parallel()
	for memory, want := range map[uint64]uint64{0: 128, 1 << 30: 128, 2 << 30: 256, 24 << 30: 1024} {
		if got := sharedBuffers(memory); got != want {
			t.Errorf("%d MB of %d bytes, want %d", got, memory, want)
		}
	}
}

func TestFirstStart(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	s := start(t, config(dir))
	for setting, want := range map[string]string{
		"listen_addresses": "", "server_encoding": "UTF8",
		"data_checksums": "on", "wal_level": "minimal", "TimeZone": "GMT",
	} {
		if got := query(t, s.DSN(), "SHOW "+setting); got != want {
			t.Errorf("%s is %q, want %q", setting, got, want)
		}
	}
	// PostgreSQL has no setting for it from version 16 on.
	const collation = "SELECT datcollate FROM pg_database WHERE datname = current_database()"
	if got := query(t, s.DSN(), collation); got != "C" {
		t.Errorf("the collation is %s, want C", got)
	}
	buffers := strconv.FormatUint(sharedBuffers(availableMemory())<<20, 10)
	if got := query(t, s.DSN(), "SELECT pg_size_bytes(current_setting('shared_buffers'))::text"); got != buffers {
		t.Errorf("%s bytes of shared buffers, want %s", got, buffers)
	}
	if got := query(t, s.DSN(), "SELECT current_user || '@' || current_database()"); got != "linkledger@linkledger" {
		t.Errorf("connected as %s", got)
	}
	if got := query(t, s.DSN(), "SELECT lower('ÄÖ')"); got != "äö" {
		t.Errorf("lower case beyond ASCII: %s", got)
	}
	if got := query(t, s.DSN(), "SELECT string_agg(DISTINCT type, ',') FROM pg_hba_file_rules"); got != "local" {
		t.Errorf("access rules of types %s, want local only", got)
	}
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o700 {
		t.Errorf("data folder is open to others: %v", info.Mode())
	}
}

func TestRestartKeepsData(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	s := start(t, config(dir))
	writeNote(t, s.DSN())
	stop(t, s)
	stop(t, s) // stopping again is not an error
	if err := s.Err(); err != nil {
		t.Errorf("after a requested stop: %v", err)
	}
	wantNote(t, start(t, config(dir)).DSN())
}

// TestStartAfterKill checks that the next start stops the server of a killed process, and that no
// committed data is lost.
func TestStartAfterKill(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0]) // killed by SIGKILL when ctx ends
	child.Env = append(os.Environ(), childDir+"="+dir)
	child.Stderr = os.Stderr
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stdin.Close() }()
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var dsn string
	if _, err := fmt.Fscanln(stdout, &dsn); err != nil {
		t.Fatal(err)
	}
	writeNote(t, dsn)
	if _, err := Start(t.Context(), config(dir)); !errors.Is(err, ErrInUse) {
		t.Errorf("beside a running server: %v, want ErrInUse", err)
	}
	cancel()
	if err := child.Wait(); err == nil {
		t.Fatal("the child ended by itself")
	}
	wantNote(t, start(t, config(dir)).DSN())
}

// TestStartEndsOrphan checks that a start stops a server that still runs although its process has
// released the folder.
func TestStartEndsOrphan(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	orphan := start(t, config(dir))
	writeNote(t, orphan.DSN())
	// Processes that other tests start at this moment inherit the lock, so closing it is not enough.
	if err := syscall.Flock(int(orphan.folder.lock.Fd()), syscall.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	if err := orphan.folder.lock.Close(); err != nil {
		t.Fatal(err)
	}
	wantNote(t, start(t, config(dir)).DSN())
	<-orphan.Done()
	if err := orphan.Err(); err == nil || !strings.Contains(err.Error(), "database system is shut down") {
		t.Errorf("the orphan's end says %v, want the end of its log", err)
	}
}

// TestStartWithStaleProcessID checks that a start leaves another process alone whose id is in
// postmaster.pid. The system may have given that id to any process of the same user.
func TestStartWithStaleProcessID(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	first := start(t, config(dir))
	stop(t, first)
	other := exec.CommandContext(t.Context(), "cat")
	other.SysProcAttr = first.folder.owner.SysProcAttr(9)
	stdin, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	pidFile := filepath.Join(dir, "cluster", "postmaster.pid")
	stale := fmt.Sprintf("%d\n%s\n1\n5432\n%s\n\n  1 1\nready\n", other.Process.Pid, first.folder.cluster(), dir)
	if err := os.WriteFile(pidFile, []byte(stale), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := first.folder.owner.Chown(pidFile); err != nil {
		t.Fatal(err)
	}
	start(t, config(dir))
	_ = stdin.Close()
	if err := other.Wait(); err != nil {
		t.Errorf("the other process did not end normally: %v", err)
	}
}

func TestStartAfterInterruptedInit(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	half := filepath.Join(dir, freshPrefix+"1")
	if err := os.MkdirAll(filepath.Join(half, "base"), 0o700); err != nil {
		t.Fatal(err)
	}
	start(t, config(dir))
	if _, err := os.Stat(half); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the incomplete cluster was not removed: %v", err)
	}
}

// TestClosedParentFolder checks a data folder that the server's user cannot reach by its path
// because the test runs as root. The server must run there without a capability that would let SQL
// read files closed to its user, and a start must find an orphaned server.
func TestClosedParentFolder(t *testing.T) {
	t.Parallel()
	closed := filepath.Join(dataDir(t), "closed")
	if err := os.MkdirAll(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(closed, "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o644); err != nil { // protected only by its folder
		t.Fatal(err)
	}
	dir := filepath.Join(closed, "postgres")
	first := start(t, config(dir))
	writeNote(t, first.DSN())
	wantConfined(t, first)
	if os.Geteuid() == 0 {
		if first.folder.openDir == nil {
			t.Error("the folder was reached by its path")
		}
		for _, path := range []string{"/etc/shadow", secret, orphan.OpenDirPath + "/../secret"} {
			if read, err := readBySQL(t, first.DSN(), path); err == nil {
				t.Errorf("SQL reads %s: %q", path, read)
			}
		}
	}
	if _, err := Start(t.Context(), config(dir)); !errors.Is(err, ErrInUse) {
		t.Errorf("start beside a running server: %v, want ErrInUse", err)
	}
	other := start(t, config(filepath.Join(closed, "other"))) // has the same command line
	if err := first.folder.lock.Close(); err != nil {
		t.Fatal(err)
	}
	wantNote(t, start(t, config(dir)).DSN())
	<-first.Done()
	if query(t, other.DSN(), "SELECT 'here'") != "here" {
		t.Error("another server was stopped")
	}
}

// TestLinkInPlaceOfLock checks that a symbolic link in place of the lock does not lead to an
// overwritten file. The server's user owns the folder and could create such a link, while this
// process may be root.
func TestLinkInPlaceOfLock(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	victim := filepath.Join(t.TempDir(), "victim")
	err := errors.Join(
		os.MkdirAll(dir, 0o700), os.WriteFile(victim, []byte("precious"), 0o600),
		os.Symlink(victim, filepath.Join(dir, "lock")),
	)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), config(dir)); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("a lock that is a link: %v", err)
	}
	if content, err := os.ReadFile(victim); err != nil || string(content) != "precious" {
		t.Errorf("the file that the link leads to has %q, %v", content, err)
	}
}

// readBySQL reads a file with the permissions of the server.
func readBySQL(t *testing.T, dsn, path string) (text string, err error) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	err = conn.QueryRow(t.Context(), "SELECT pg_read_file($1)", path).Scan(&text)
	return text, err
}

// wantConfined checks that a server and its processes have no capability of this process, cannot
// gain one, and have none of its files open.
func wantConfined(t *testing.T, s *Server) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	for _, pid := range []int{s.cmd.Process.Pid, int(conn.PgConn().PID())} {
		proc := filepath.Join("/proc", strconv.Itoa(pid))
		status, err := os.ReadFile(filepath.Join(proc, "status"))
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"NoNewPrivs": "1"}
		if s.folder.owner.Drop {
			for _, right := range []string{"CapInh", "CapPrm", "CapEff", "CapAmb"} {
				want[right] = "0000000000000000"
			}
			want["Groups"] = ""
		}
		for line := range strings.Lines(string(status)) {
			name, value, _ := strings.Cut(line, ":")
			if wanted, ok := want[name]; ok && strings.TrimSpace(value) != wanted {
				t.Errorf("process %d has %s %s, want %q", pid, name, strings.TrimSpace(value), wanted)
			}
		}
		files, err := filepath.Glob(filepath.Join(proc, "fd", "*"))
		if err != nil || len(files) == 0 {
			t.Fatalf("open files of process %d: %v, %v", pid, files, err)
		}
		for _, file := range files {
			if target, _ := os.Readlink(file); target == s.folder.lock.Name() {
				t.Errorf("process %d has %s open", pid, target)
			}
		}
	}
}

func TestLongPath(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(dataDir(t), strings.Repeat("long", 30), "it's a \"folder\", 100%")
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	s := start(t, config(dir))
	temp := s.folder.socket
	if query(t, s.DSN(), "SELECT 'here'") != "here" || strings.HasPrefix(temp, dir) {
		t.Errorf("socket folder %s", temp)
	}
	stop(t, s)
	if _, err := os.Stat(temp); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket folder was not removed: %v", err)
	}
}

// TestOddPath checks that a path whose characters have a meaning in a connection URL leads to the server.
func TestOddPath(t *testing.T) {
	t.Parallel()
	dir := dataDir(t) + " a+b&c=d?#%20"
	s := start(t, config(dir))
	if query(t, s.DSN(), "SELECT 'here'") != "here" || !strings.HasPrefix(s.folder.socket, dir) {
		t.Errorf("socket folder %s", s.folder.socket)
	}
}

// TestUnexpectedEnd checks that Done and Err report an end that was not requested.
func TestUnexpectedEnd(t *testing.T) {
	t.Parallel()
	s := start(t, config(dataDir(t)))
	s.signal(os.Kill)
	<-s.Done()
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "signal: killed") {
		t.Errorf("got %v, want the cause", err)
	}
}

// servingProcess returns the id of the process that serves a new client.
func servingProcess(t *testing.T, dsn string) int {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return int(conn.PgConn().PID())
}

// TestRestart checks that a server that ends by itself, or because a process of it has crashed, is
// started again, with what was committed, until it is stopped.
func TestRestart(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	cfg := config(dataDir(t))
	cfg.Unsafe, cfg.Restart = false, true
	cfg.Logger = slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelInfo}))
	s := start(t, cfg)
	writeNote(t, s.DSN())
	for _, kill := range []func(server int) int{
		func(server int) int { return server },
		func(int) int { return servingProcess(t, s.DSN()) },
	} {
		s.mu.Lock()
		killed := s.cmd
		if err := syscall.Kill(kill(killed.Process.Pid), syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		s.mu.Unlock()
		again := time.NewTicker(readyPoll)
		for s.running(killed) || s.createDatabase(t.Context()) != nil {
			select {
			case <-again.C:
			case <-s.Done():
				t.Fatalf("not started again: %v", s.Err())
			case <-t.Context().Done():
				t.Fatal("not started again")
			}
		}
		again.Stop()
		wantNote(t, s.DSN())
	}
	stop(t, s)
	if err := s.Err(); err != nil {
		t.Errorf("after the stop: %v", err)
	}
	if text := logged.String(); !strings.Contains(text, "signal: killed") {
		t.Errorf("the log does not say why the server ended: %s", text)
	}
}

func TestStopAtDeadline(t *testing.T) {
	t.Parallel()
	cfg := config(dataDir(t))
	cfg.Unsafe = false // committed data must survive the immediate shutdown
	s := start(t, cfg)
	writeNote(t, s.DSN())
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	// A cancelled context leaves no time to shut down, but the server may be quicker.
	if err := s.Stop(gone); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-s.Done()
	wantNote(t, start(t, cfg).DSN())
}
