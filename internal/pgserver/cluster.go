package pgserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"linkledger/internal/pgserver/binaries"
	"linkledger/internal/pgserver/serveruser"
)

const (
	// freshPrefix begins the name of a cluster that is being created.
	freshPrefix = "cluster.new-"

	// accessRules allow connections through the socket and refuse them by network. Only the
	// server's user may enter the folder of the socket.
	accessRules = "# TYPE  DATABASE  USER  METHOD\nlocal   all       all   trust\n"

	// settings suit a small installation whose data can be rebuilt from the events. Nothing
	// replicates from the server, so its log contains only what recovery needs, and the bulk loads
	// of a rebuild write their rows only once. GMT is the only time zone that needs no time zone
	// files.
	settings = `
# Settings of Linkledger. They may be edited; changes count from the next start.
max_connections = 100
synchronous_commit = on
wal_level = minimal
max_wal_senders = 0
max_wal_size = 1GB
checkpoint_timeout = 15min
log_checkpoints = off
jit = off
timezone = 'GMT'
log_timezone = 'GMT'
`
)

// sharedBuffers returns the size of PostgreSQL's page cache in megabytes for a machine with the
// given bytes of memory. Scans of a table that is larger than a quarter of the cache do not fill
// the cache.
func sharedBuffers(memory uint64) uint64 { return min(max(memory>>20/8, 128), 1024) }

// availableMemory returns the memory that this process and its children may use, in bytes, or 0 if
// it is unknown.
func availableMemory() uint64 {
	limit, err := memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)()
	if err != nil {
		return 0
	}
	return limit
}

// serverArgs returns the arguments of the server. They override postgresql.conf.
func serverArgs(f *folder, cfg Config) []string {
	pairs := []string{
		"listen_addresses=",
		"port=5432", // only the name of the socket
		"unix_socket_directories=" + quoteList(f.serverPath(f.socket)),
		"unix_socket_permissions=0700",
		"logging_collector=off",
		"log_destination=stderr",
		"log_line_prefix=",
		"log_min_error_statement=panic", // statements contain data of users
		"lc_messages=C",                 // serverLog parses the English names of levels
		// Before a recovery, PostgreSQL makes one call, and does not sync each of a thousand files.
		"recovery_init_sync_method=syncfs",
	}
	if cfg.Restart {
		// If a child process of the server crashes, the server ends, and run starts it again.
		// PostgreSQL could restart itself, but that takes 5 s longer if the recovery fails, as it
		// does on a disk that fails.
		pairs = append(pairs, "restart_after_crash=off")
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Settings)) {
		pairs = append(pairs, name+"="+cfg.Settings[name])
	}
	if cfg.Unsafe {
		pairs = append(pairs, "fsync=off", "synchronous_commit=off", "full_page_writes=off")
	}
	args := []string{"-D", f.serverPath(f.cluster())}
	for _, pair := range pairs {
		args = append(args, "-c", pair)
	}
	return args
}

// quoteList returns a PostgreSQL list of names with the path as its only item.
func quoteList(path string) string { return `"` + strings.ReplaceAll(path, `"`, `""`) + `"` }

// initCluster creates the cluster if it does not exist. The cluster gets its name only when it is
// complete, so an interrupted attempt leaves no incomplete cluster in use.
func initCluster(ctx context.Context, f *folder, inst binaries.Installation, unsafe bool) error {
	_, err := os.Stat(f.cluster())
	if err == nil {
		return nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("look for the database: %w", err)
	}
	if err := removeUnfinished(f.path); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(f.path, freshPrefix)
	if err != nil {
		return fmt.Errorf("create database: %w", err)
	}
	if err := f.owner.Chown(fresh); err != nil {
		return err
	}
	if err := initdb(ctx, f, inst, fresh, unsafe); err != nil {
		return err
	}
	if err := configure(fresh); err != nil {
		return err
	}
	if err := os.Rename(fresh, f.cluster()); err != nil {
		return fmt.Errorf("put the new database in place: %w", err)
	}
	return nil
}

// setAside renames the cluster, because no installed version can run it. made is the version that
// made it.
func (f *folder) setAside(made int) error {
	name := "cluster-" + strconv.Itoa(made)
	first := name
	for n := 2; ; n++ {
		to := filepath.Join(f.path, name)
		_, err := os.Lstat(to)
		if errors.Is(err, os.ErrNotExist) {
			if err := os.Rename(f.cluster(), to); err != nil {
				return fmt.Errorf("set the database aside: %w", err)
			}
			f.aside = to
			return nil
		}
		if err != nil {
			return fmt.Errorf("set the database aside: %w", err)
		}
		name = first + "." + strconv.Itoa(n)
	}
}

func removeUnfinished(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("read data folder: %w", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), freshPrefix) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return fmt.Errorf("remove unfinished database: %w", err)
		}
	}
	return nil
}

func initdb(
	ctx context.Context, f *folder, inst binaries.Installation, dir string, unsafe bool,
) error {
	// Byte order sorts fastest and allows prefix searches by index. The character type makes upper
	// and lower case work beyond ASCII.
	args := []string{
		"-D", f.serverPath(dir), "-U", name, "--encoding=UTF8", "--locale=C", "--lc-ctype=C.UTF-8",
		"--auth-local=trust", "--auth-host=reject", "--data-checksums", "--no-instructions",
	}
	if unsafe {
		args = append(args, "--no-sync", "--wal-segsize=1")
	}
	cmd := f.run(ctx, inst, "initdb", args...)
	cmd.SysProcAttr = f.owner.SysProcAttr(syscall.SIGKILL)
	var out []byte
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread() // the kernel sends the parent-death signal when the thread ends
		if err = serveruser.ConfineThread(); err == nil {
			out, err = cmd.CombinedOutput()
		}
	}()
	<-ended
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return fmt.Errorf(
		"create database: %w%s", f.owner.Explain(err), lastLines(strings.Split(string(out), "\n")),
	)
}

// configure writes the access rules and settings into a new cluster.
func configure(cluster string) error {
	if err := os.WriteFile(
		filepath.Join(cluster, "pg_hba.conf"), []byte(accessRules), 0o600,
	); err != nil {
		return fmt.Errorf("write access rules: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(cluster, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("write settings: %w", err)
	}
	buffers := sharedBuffers(availableMemory())
	_, err = fmt.Fprintf(file, "%sshared_buffers = %dMB\n", settings, buffers)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write settings: %w", err)
	}
	return nil
}
