// Package bouncertest puts a real PgBouncer between a test and its database.
//
// .ci/pgbouncer installs PgBouncer for the tests.
package bouncertest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	startTimeout = 30 * time.Second
	startPoll    = 20 * time.Millisecond
	// port is only part of the name of the socket.
	port = "6432"
)

// unpacked is where .ci/pgbouncer unpacks the package for a user who may not install it, below the
// folder of the repository.
const unpacked = ".tools/pgbouncer"

// Start starts PgBouncer in front of a server of pgserver. dsn is the connection URL of a database
// of the server, and Start returns the URL of the same database through PgBouncer. settings are
// lines of PgBouncer's configuration, such as "pool_mode = transaction". All other settings have
// PgBouncer's defaults. PgBouncer ends with the test.
func Start(t testing.TB, dsn string, settings ...string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	sockets, user := u.Query().Get("host"), u.User.Username()
	//nolint:usetesting // the user that PgBouncer runs as may not enter the folders of t.TempDir
	folder, err := os.MkdirTemp("", "linkledger-pgbouncer-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })  // the folder is in the temporary one
	if err := os.Chmod(folder, 0o755); err != nil { //nolint:gosec // no secrets
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "users"), fmt.Sprintf("%q \"\"\n", user))
	config := append([]string{
		"[databases]", "* = host=" + sockets,
		"[pgbouncer]", "unix_socket_dir = " + folder, "listen_port = " + port,
		"auth_type = trust", "auth_file = " + filepath.Join(folder, "users"),
	}, settings...)
	write(t, filepath.Join(folder, "config"), strings.Join(config, "\n")+"\n")
	run(t, folder, sockets)
	query := u.Query()
	query.Set("host", folder)
	query.Set("port", port)
	u.RawQuery = query.Encode()
	awaitAnswer(t, u.String())
	return u.String()
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // no secrets
		t.Fatal(err)
	}
}

// run runs PgBouncer until the test ends. PgBouncer does not run as root, so it runs as the owner
// of the server's sockets. If PgBouncer ends by itself, run starts it again, as a service manager
// does, because version 1.18 ends now and then when a client is killed
// (https://github.com/pgbouncer/pgbouncer/issues/801).
func run(t testing.TB, folder, sockets string) {
	t.Helper()
	command := commandIn(t, folder, sockets)
	var output bytes.Buffer
	first := command(&output)
	if err := first.Start(); err != nil {
		t.Fatalf("start PgBouncer: %v", err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() {
		for process := first; ; {
			kill := context.AfterFunc(ctx, func() {
				_ = process.Process.Kill() // it may have ended
			})
			err := process.Wait()
			kill()
			if ctx.Err() != nil {
				return
			}
			_, _ = fmt.Fprintf(&output, "PgBouncer has ended: %v\n", err) // a buffer takes all
			process = command(&output)
			if err := process.Start(); err != nil {
				t.Errorf("start PgBouncer again: %v", err)
				return
			}
		}
	})
	t.Cleanup(func() {
		stop()
		running.Wait()
		if t.Failed() {
			t.Logf("PgBouncer wrote:\n%s", output.String()[max(0, output.Len()-4000):])
		}
	})
}

// commandIn returns a function that makes the command that runs PgBouncer with the configuration in
// a folder.
func commandIn(t testing.TB, folder, sockets string) func(output io.Writer) *exec.Cmd {
	t.Helper()
	program, libraries := find(t, folder)
	info, err := os.Stat(sockets)
	if err != nil {
		t.Fatal(err)
	}
	as := &syscall.SysProcAttr{}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
		as.Credential = &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}
		if err := os.Chown(folder, int(owner.Uid), int(owner.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	return func(output io.Writer) *exec.Cmd {
		//nolint:gosec // G204: the program is the one of the tests
		process := exec.Command(program, filepath.Join(folder, "config"))
		process.Dir, process.SysProcAttr = "/", as
		if libraries != "" {
			process.Env = append(os.Environ(), "LD_LIBRARY_PATH="+libraries)
		}
		process.Stdout, process.Stderr = output, output
		return process
	}
}

// find returns the program, and the folders of its libraries if it was unpacked. If root runs the
// test, PgBouncer runs as another user, who may not be able to enter the repository. So if
// PgBouncer was unpacked there, find copies it to folder.
func find(t testing.TB, folder string) (program, libraries string) {
	t.Helper()
	if program, err := exec.LookPath("pgbouncer"); err == nil {
		return program, ""
	}
	const installed = "/usr/sbin/pgbouncer" // which is not in the path of ordinary users
	if _, err := os.Stat(installed); err == nil {
		return installed, ""
	}
	_, file, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(file), "../../..", unpacked)
	if _, err := os.Stat(filepath.Join(root, installed)); err != nil {
		t.Fatal("PgBouncer is not installed: run .ci/pgbouncer, or make test")
	}
	//nolint:gosec // G204: the folders are those of the tests
	copied := exec.CommandContext(t.Context(), "cp", "-a", root, folder)
	if out, err := copied.CombinedOutput(); err != nil {
		t.Fatalf("copy PgBouncer: %v: %s", err, out)
	}
	root = filepath.Join(folder, filepath.Base(root))
	var folders []string
	for _, pattern := range []string{"usr/lib/*-linux-*", "lib/*-linux-*"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		folders = append(folders, found...)
	}
	return filepath.Join(root, installed), strings.Join(folders, ":")
}

func awaitAnswer(t testing.TB, dsn string) {
	t.Helper()
	for late := time.Now().Add(startTimeout); ; {
		conn, err := pgconn.Connect(t.Context(), dsn)
		if err == nil {
			if err := conn.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			return
		}
		if time.Now().After(late) {
			t.Fatalf("PgBouncer does not answer: %v", err)
		}
		select {
		case <-time.After(startPoll):
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
}
