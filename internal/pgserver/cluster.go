package pgserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// freshPrefix begins the name of a cluster that is being made.
	freshPrefix = "cluster.new-"

	// accessRules let in whoever can reach the socket, and nobody by network:
	// the folder of the socket is closed to other users.
	accessRules = "# TYPE  DATABASE  USER  METHOD\nlocal   all       all   trust\n"

	// settings are for a small installation whose data can be rebuilt from the
	// events. Nothing replicates from it, so the log holds what recovery needs
	// and no more, which lets bulk loads of a rebuild write their rows once.
	// GMT is the one time zone that needs no time zone files.
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

// sharedBuffers returns how many megabytes of pages the server keeps, on a machine with so many
// bytes of memory. Scans of a table that is larger than a quarter of them keep nothing of it.
func sharedBuffers(memory uint64) uint64 { return min(max(memory>>20/8, 128), 1024) }

// availableMemory returns the bytes that this process and its children may use; 0: nobody knows.
func availableMemory() uint64 {
	limit, err := memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)()
	if err != nil {
		return 0
	}
	return limit
}

// serverArgs are the settings that no postgresql.conf may change.
func serverArgs(f *folder, unsafe bool) []string {
	pairs := []string{
		"listen_addresses=",
		"port=5432", // only the name of the socket
		"unix_socket_directories=" + quoteList(f.serverPath(f.socket)),
		"unix_socket_permissions=0700",
		"logging_collector=off",
		"log_destination=stderr",
		"log_line_prefix=",
		"log_min_error_statement=panic", // statements hold data of the users
		"lc_messages=C",                 // the levels of the log are read
	}
	if unsafe {
		pairs = append(pairs, "fsync=off", "synchronous_commit=off", "full_page_writes=off")
	}
	args := []string{"-D", f.serverPath(f.cluster())}
	for _, pair := range pairs {
		args = append(args, "-c", pair)
	}
	return args
}

// quoteList writes a path as the only item of a PostgreSQL list of names.
func quoteList(path string) string { return `"` + strings.ReplaceAll(path, `"`, `""`) + `"` }

// initCluster makes the cluster unless there is one. It appears under its name
// only when complete, so an interrupted attempt leaves nothing half-made in use.
func initCluster(ctx context.Context, f *folder, inst installation, unsafe bool) error {
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
	if err := f.owner.chown(fresh); err != nil {
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

func initdb(ctx context.Context, f *folder, inst installation, dir string, unsafe bool) error {
	// Byte order sorts fastest and lets an index serve prefixes; the character
	// type keeps upper and lower case working beyond ASCII.
	args := []string{
		"-D", f.serverPath(dir), "-U", name, "--encoding=UTF8", "--locale=C", "--lc-ctype=C.UTF-8",
		"--auth-local=trust", "--auth-host=reject", "--data-checksums", "--no-instructions",
	}
	if unsafe {
		args = append(args, "--no-sync")
	}
	cmd := inst.command(ctx, f, "initdb", args...)
	cmd.SysProcAttr = f.owner.sysProcAttr(syscall.SIGKILL)
	var out []byte
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread() // the parent-death signal belongs to the thread that forks, too
		if err = confineThread(); err == nil {
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
		"create database: %w%s", f.owner.explain(err), lastLines(strings.Split(string(out), "\n")),
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
	_, err = fmt.Fprintf(file, "%sshared_buffers = %dMB\n", settings, sharedBuffers(availableMemory()))
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write settings: %w", err)
	}
	return nil
}
