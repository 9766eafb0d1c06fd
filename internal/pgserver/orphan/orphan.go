// Package orphan ends the servers that a killed process has left running. It MUST NOT end a server
// of another cluster.
package orphan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

const (
	// orphanTimeout bounds the clean shutdown of a server whose parent was killed. The immediate
	// shutdown after it has the same limit. Then the start fails.
	orphanTimeout = 20 * time.Second
	orphanPoll    = 10 * time.Millisecond
)

// OpenDirPath is the path to a folder that the server inherited as an open file, the first one
// after the standard files. The kernel does not check the parent folders for such a path.
const OpenDirPath = "/proc/self/fd/3"

// End stops the servers that a killed process left running on the cluster. The caller MUST hold the
// lock of the folder, so that any running server is an orphan. End does not use the process id in
// postmaster.pid, because the id may belong to another process now. PostgreSQL would refuse to
// start because of that process, so End removes the file.
func End(ctx context.Context, cluster string) error {
	pids, err := postmasters(cluster)
	if err != nil {
		return err
	}
	for _, pid := range pids {
		if err := endOrphan(ctx, pid, cluster); err != nil {
			return fmt.Errorf("end the earlier PostgreSQL server, process %d: %w", pid, err)
		}
	}
	err = os.Remove(filepath.Join(cluster, "postmaster.pid"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove stale process id: %w", err)
	}
	return nil
}

// endOrphan requests a fast shutdown, then an immediate one.
func endOrphan(ctx context.Context, pid int, cluster string) error {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT} {
		if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("send signal: %w", err)
		}
		ended, err := awaitEnd(ctx, pid, cluster)
		if ended || err != nil {
			return err
		}
	}
	return errors.New("it does not end: stop it by hand")
}

// awaitEnd waits until the server has ended. It returns false if that takes longer than
// orphanTimeout.
func awaitEnd(ctx context.Context, pid int, cluster string) (bool, error) {
	tick := time.NewTicker(orphanPoll)
	defer tick.Stop()
	late := time.NewTimer(orphanTimeout)
	defer late.Stop()
	for serves(pid, cluster) {
		select {
		case <-tick.C:
		case <-late.C:
			return false, nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
	return true, nil
}

// postmasters returns the main processes of servers on the cluster.
func postmasters(cluster string) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && serves(pid, cluster) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// serves reports whether a process is the main process of a server on the cluster. The child
// processes of a server replace their command line, and a zombie has none.
func serves(pid int, cluster string) bool {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if err != nil {
		return false // gone
	}
	program, args, _ := bytes.Cut(line, []byte{0})
	if filepath.Base(string(program)) != "postgres" {
		return false
	}
	return bytes.HasPrefix(args, []byte("-D\x00"+cluster+"\x00")) ||
		bytes.HasPrefix(args, []byte("-D\x00"+OpenDirPath+"/")) && worksIn(pid, cluster)
}

// worksIn reports whether the working folder of a process is dir. A server works in its cluster.
func worksIn(pid int, dir string) bool {
	at, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid), "cwd"))
	if err != nil {
		return false // gone, or of another user
	}
	wanted, err := os.Stat(dir)
	return err == nil && os.SameFile(at, wanted)
}
