package pgserver

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// account is the operating system user that the server runs as.
type account struct {
	name     string
	uid, gid uint32
	drop     bool // this process is root, and the server runs as the account
}

// serverAccount chooses the account for a cluster, which may not exist yet.
func serverAccount(cluster string) (account, error) {
	if os.Geteuid() != 0 {
		return account{name: strconv.Itoa(os.Geteuid())}, nil
	}
	// Lstat does not follow a link. The owner of the parent folder may have put a link there to the
	// folder of another user.
	if info, err := os.Lstat(cluster); err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 {
			return account{name: userName(st.Uid), uid: st.Uid, gid: st.Gid, drop: true}, nil
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
			return account{}, fmt.Errorf("read the ids of user %s: %w", name, err)
		}
		return account{name: name, uid: uint32(uid), gid: uint32(gid), drop: true}, nil
	}
	return account{}, errors.New("PostgreSQL does not run as root and this machine has " +
		"neither a user postgres nor a user nobody: add one, or run as an ordinary user")
}

func userName(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}

// chown makes the account the owner of a file.
func (a account) chown(path string) error {
	if !a.drop {
		return nil
	}
	if err := os.Lchown(path, int(a.uid), int(a.gid)); err != nil {
		return fmt.Errorf("give %s to user %s: %w", path, a.name, err)
	}
	return nil
}

// canReach reports whether the account may enter every folder above path.
func (a account) canReach(path string) (bool, error) {
	if !a.drop {
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

func (a account) canEnter(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch mode := info.Mode().Perm(); {
	case ok && st.Uid == a.uid:
		return mode&0o100 != 0
	case ok && st.Gid == a.gid:
		return mode&0o010 != 0
	default:
		return mode&0o001 != 0
	}
}

// sysProcAttr returns the attributes of a process of the account. The process receives the signal
// death when its parent ends. It has its own process group, so that Ctrl-C in a terminal does not
// reach it: it has to outlive the connections of its parent. It has no capabilities and no
// supplementary groups.
func (a account) sysProcAttr(death syscall.Signal) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Pdeathsig: death, Setpgid: true}
	if a.drop {
		attr.Credential = &syscall.Credential{Uid: a.uid, Gid: a.gid}
	}
	return attr
}

// confineThread prevents the processes that the calling thread starts from gaining rights, for
// example through a setuid program. The setting cannot be undone. The calling goroutine MUST lock
// its thread and never unlock it, so that the thread ends with it.
func confineThread() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("keep PostgreSQL from getting further rights: %w", err)
	}
	return nil
}

// explain adds advice if the kernel refuses to start a process of the account.
func (a account) explain(err error) error {
	if !a.drop || !errors.Is(err, os.ErrPermission) {
		return err
	}
	return fmt.Errorf("this process may not become user %s, which PostgreSQL has to run as: "+
		"run as an ordinary user: %w", a.name, err)
}
