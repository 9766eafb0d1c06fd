package pgserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"linkledger/internal/pgserver/binaries"
	"linkledger/internal/pgserver/orphan"
	"linkledger/internal/pgserver/serveruser"
)

const (
	// socketFile is the name of PostgreSQL's socket. The port is only part of the name.
	socketFile = ".s.PGSQL.5432"
	// maxSocketPath is the maximum length of the path of a Unix socket on Linux, in bytes.
	maxSocketPath = 107
	// tempPrefix begins the name of a socket folder outside the data folder.
	tempPrefix = "linkledger-postgres-"
)

// ErrInUse means that another process runs a server on the data folder.
var ErrInUse = errors.New("data folder in use")

// folder is a data folder that this process has locked.
type folder struct {
	path    string // absolute and without symbolic links
	lock    *os.File
	owner   serveruser.User
	openDir *os.File // the data folder, if owner cannot enter a parent of it; else nil
	socket  string   // folder of the socket, set by openSocket
	aside   string   // folder of the cluster that setAside has renamed, else ""
	temp    string   // equals socket if that is outside the data folder, else ""
}

// openFolder locks the folder. It creates the folder if it does not exist, but no folder above it.
func openFolder(dir string) (*folder, error) {
	if dir == "" {
		return nil, errors.New("no data folder given")
	}
	path, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find data folder %s: %w", dir, err)
	}
	// Mkdir makes no folder above it, so the mount point of a disk that is not mounted is not
	// filled.
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("create data folder, choose one that you may write: %w", err)
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return nil, fmt.Errorf("find data folder %s: %w", dir, err)
	}
	lock, err := acquireLock(filepath.Join(path, "lock"))
	if err != nil {
		return nil, err
	}
	f := &folder{path: path, lock: lock}
	if f.owner, err = serveruser.Choose(f.cluster()); err != nil {
		f.release()
		return nil, err
	}
	return f, nil
}

// acquireLock takes the lock and writes the process id into its file for error messages of other
// processes. The kernel releases the lock when this process ends. acquireLock follows no symbolic
// link: the server's user owns the folder, and could put one there that points to a file of root,
// which root would then overwrite.
func acquireLock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("lock data folder: %s is a symbolic link: remove it", path)
	}
	if err != nil {
		return nil, fmt.Errorf("lock data folder, choose one that you may write: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		holder := make([]byte, 20)
		n, _ := file.Read(holder) // if nothing is read, the error names no process
		err = fmt.Errorf("%w: process %s runs a server on %s: stop it, or choose another folder",
			ErrInUse, strings.TrimSpace(string(holder[:n])), filepath.Dir(path))
	}
	if err == nil {
		err = file.Truncate(0)
	}
	if err == nil {
		_, err = file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		return nil, fmt.Errorf("lock data folder: %w", errors.Join(err, file.Close()))
	}
	return file, nil
}

func (f *folder) cluster() string { return filepath.Join(f.path, "cluster") }

// prepare gives the folder to the server's user and checks what that user can reach.
func (f *folder) prepare(inst binaries.Installation) error {
	//nolint:gosec // G302: a folder, closed to all but its owner
	if err := os.Chmod(f.path, 0o700); err != nil {
		return fmt.Errorf("close data folder to other users: %w", err)
	}
	for _, path := range []string{f.path, f.lock.Name()} {
		if err := f.owner.Chown(path); err != nil {
			return err
		}
	}
	open, err := f.owner.CanReach(filepath.Join(inst.Bin, "postgres"))
	if err != nil {
		return err
	}
	if !open {
		return fmt.Errorf("user %s, which PostgreSQL has to run as, may not enter %s: "+
			"install PostgreSQL with apt-get, or run as an ordinary user", f.owner.Name, inst.Bin)
	}
	if open, err = f.owner.CanReach(f.path); err != nil || open {
		return err
	}
	if f.openDir, err = os.Open(f.path); err != nil {
		return fmt.Errorf("open data folder: %w", err)
	}
	return nil
}

// serverPath returns a path in the folder as the server has to open it.
func (f *folder) serverPath(path string) string {
	within, ok := strings.CutPrefix(path, f.path+"/")
	if f.openDir == nil || !ok {
		return path
	}
	return orphan.OpenDirPath + "/" + within
}

// openSocket creates the folder of the socket: in the data folder if the path is short enough for a
// socket, else in the temporary folder.
func (f *folder) openSocket() error {
	link := filepath.Join(f.path, "socket")
	if err := removeSocket(link); err != nil {
		return err
	}
	f.socket = link
	if len(filepath.Join(link, socketFile)) > maxSocketPath {
		temp, err := os.MkdirTemp("", tempPrefix)
		if err != nil {
			return fmt.Errorf("create socket folder: %w", err)
		}
		f.socket, f.temp = temp, temp
		if err := os.Symlink(temp, link); err != nil {
			return fmt.Errorf("link socket folder: %w", err)
		}
		open, err := f.owner.CanReach(temp)
		if err != nil {
			return err
		}
		if !open {
			return fmt.Errorf("user %s, which PostgreSQL has to run as, may not enter %s. The "+
				"socket has to be there, because the path of the data folder is too long for a "+
				"socket: choose another temporary folder with TMPDIR, or a data folder with a "+
				"shorter path",
				f.owner.Name, filepath.Dir(temp))
		}
		return f.owner.Chown(temp)
	}
	if err := os.Mkdir(link, 0o700); err != nil {
		return fmt.Errorf("create socket folder: %w", err)
	}
	return f.owner.Chown(link)
}

// removeSocket removes the socket folder of an earlier server, even one outside the data folder.
func removeSocket(link string) error {
	if temp, err := os.Readlink(link); err == nil {
		if strings.HasPrefix(filepath.Base(temp), tempPrefix) {
			removeTemp(temp)
		}
	}
	if err := os.RemoveAll(link); err != nil {
		return fmt.Errorf("remove old socket folder: %w", err)
	}
	return nil
}

// removeTemp removes a socket folder and PostgreSQL's files in it by name. A folder that contains
// anything else stays.
func removeTemp(temp string) {
	for _, path := range []string{
		filepath.Join(temp, socketFile), filepath.Join(temp, socketFile+".lock"), temp,
	} {
		_ = os.Remove(path) // remaining files in the temporary folder are harmless
	}
}

// release unlocks the folder for the next server. It MUST be called only once.
func (f *folder) release() {
	if f.temp != "" {
		removeTemp(f.temp)
	}
	// A process that is being started inherits the lock until it executes its program, so closing
	// the file does not release it.
	_ = syscall.Flock(int(f.lock.Fd()), syscall.LOCK_UN)
	_ = f.lock.Close() // nothing is left to flush
	if f.openDir != nil {
		_ = f.openDir.Close()
	}
}

// run returns the command that runs one of the binaries on the folder.
func (f *folder) run(
	ctx context.Context, inst binaries.Installation, program string, args ...string,
) *exec.Cmd {
	cmd := inst.Command(ctx, program, args...)
	cmd.Env = append(cmd.Env, "HOME="+f.path)
	if f.openDir != nil {
		cmd.ExtraFiles = []*os.File{f.openDir}
	}
	return cmd
}
