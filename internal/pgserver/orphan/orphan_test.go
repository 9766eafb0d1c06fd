package orphan_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"linkledger/internal/pgserver/orphan"
)

// child makes the test binary act as a server, until its input ends or a signal arrives.
const child = "TEST_ORPHAN"

func TestMain(m *testing.M) {
	if os.Getenv(child) != "" {
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	os.Exit(m.Run())
}

// server starts a process that looks like a server on a cluster.
func server(t *testing.T, cluster string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Args = []string{"/usr/bin/postgres", "-D", cluster, "-c", "x"}
	cmd.Env = append(os.Environ(), child+"=1")
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// TestEnd checks that the servers of a cluster end by a fast shutdown, and that servers of other clusters keep running.
func TestEnd(t *testing.T) {
	t.Parallel()
	cluster, other := t.TempDir(), t.TempDir()
	pid := filepath.Join(cluster, "postmaster.pid")
	if err := os.WriteFile(pid, []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	left, foreign := server(t, cluster), server(t, other)
	ended := make(chan error, 1)
	go func() { ended <- left.Wait() }()
	if err := orphan.End(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	state := new(exec.ExitError)
	if err := <-ended; !errors.As(err, &state) || state.Sys().(syscall.WaitStatus).Signal() != syscall.SIGINT {
		t.Errorf("the server of the cluster ended with %v, want SIGINT", err)
	}
	if _, err := os.Stat(pid); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the process id is left: %v", err)
	}
	if err := foreign.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the server of another cluster has ended: %v", err)
	}
	if err := foreign.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = foreign.Wait() // it was killed
	if err := orphan.End(t.Context(), cluster); err != nil {
		t.Errorf("without servers: %v", err)
	}
}
