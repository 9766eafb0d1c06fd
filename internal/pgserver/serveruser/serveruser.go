// Package serveruser chooses the operating system user that PostgreSQL runs as, and starts
// processes without any right of root. It MUST NOT know what is in a cluster.
package serveruser

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// User is the operating system user that the server runs as.
type User struct {
	Name     string
	UID, GID uint32
	Drop     bool // this process is root, and the server runs as the user
}

// Choose chooses the user for a cluster, which may not exist yet.
func Choose(cluster string) (User, error) {
	if os.Geteuid() != 0 {
		return User{Name: strconv.Itoa(os.Geteuid())}, nil
	}
	// Lstat does not follow a link, because the owner of the parent folder may have put a link to
	// the folder of another user there.
	if info, err := os.Lstat(cluster); err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 {
			return User{Name: NameOf(st.Uid), UID: st.Uid, GID: st.Gid, Drop: true}, nil
		}
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return User{}, fmt.Errorf("read the ids of user %s: %w", name, err)
		}
		return User{Name: name, UID: uint32(uid), GID: uint32(gid), Drop: true}, nil
	}
	return User{}, errors.New("PostgreSQL does not run as root and this machine has " +
		"neither a user postgres nor a user nobody: add one, or run as an ordinary user")
}

// NameOf returns the name of the user with an id, or the id if it has none.
func NameOf(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}

// Chown makes the user the owner of a file.
func (a User) Chown(path string) error {
	if !a.Drop {
		return nil
	}
	if err := os.Lchown(path, int(a.UID), int(a.GID)); err != nil {
		return fmt.Errorf("give %s to user %s: %w", path, a.Name, err)
	}
	return nil
}

// ChownAll gives the files that root owns in a cluster to the user. The folder itself is last, so
// that the next process begins again if this one is killed before. ChownAll follows no link. It
// leaves out files with several names, because another user may have linked them there.
func (a User) ChownAll(cluster string) (err error) {
	root, err := os.OpenRoot(cluster)
	if err != nil {
		return fmt.Errorf("give the database to user %s: %w", a.Name, err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		of, ok := info.Sys().(*syscall.Stat_t)
		if !ok || of.Uid != 0 || !info.IsDir() && of.Nlink > 1 {
			return nil
		}
		return root.Lchown(name, int(a.UID), int(a.GID))
	})
	if err != nil {
		return fmt.Errorf("give the database to user %s: %w", a.Name, err)
	}
	return a.Chown(cluster)
}

// CanReach reports whether the user may enter every folder above path.
func (a User) CanReach(path string) (bool, error) {
	if !a.Drop {
		return true, nil
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return false, fmt.Errorf("look at folder %s: %w", dir, err)
		}
		if !a.canEnter(info) {
			return false, nil
		}
		if dir == filepath.Dir(dir) {
			return true, nil
		}
	}
}

func (a User) canEnter(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch mode := info.Mode().Perm(); {
	case ok && st.Uid == a.UID:
		return mode&0o100 != 0
	case ok && st.Gid == a.GID:
		return mode&0o010 != 0
	default:
		return mode&0o001 != 0
	}
}

// SysProcAttr returns the attributes of a process of the user. The process receives the signal
// death when its parent ends. It has its own process group, so that Ctrl-C in a terminal does not
// reach it: the server has to run until its parent has closed its connections. It has no
// capabilities and no supplementary groups.
func (a User) SysProcAttr(death syscall.Signal) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Pdeathsig: death, Setpgid: true}
	if a.Drop {
		attr.Credential = &syscall.Credential{Uid: a.UID, Gid: a.GID}
	}
	return attr
}

// ConfineThread prevents the processes that the calling thread starts from gaining rights, for
// example through a setuid program. The setting cannot be undone. The calling goroutine MUST lock
// its thread and never unlock it, so that the thread ends with it.
func ConfineThread() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("keep PostgreSQL from getting further rights: %w", err)
	}
	return nil
}

// Explain adds advice if the kernel refuses to start a process of the user.
func (a User) Explain(err error) error {
	if !a.Drop || !errors.Is(err, os.ErrPermission) {
		return err
	}
	return fmt.Errorf("this process may not become user %s, which PostgreSQL has to run as: "+
		"run as an ordinary user: %w", a.Name, err)
}
