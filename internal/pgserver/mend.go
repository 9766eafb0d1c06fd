package pgserver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// maxMode is the widest mode of a cluster that PostgreSQL accepts.
const maxMode = 0o750

// mend gives a cluster that was copied back to the server's user, and closes it to other users: cp
// -r makes all files those of who copies. PostgreSQL refuses such a cluster. A cluster that is a
// link is left as it is.
func (f *folder) mend() error {
	info, err := os.Lstat(f.cluster())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at the database: %w", err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() {
		return nil
	}
	if !f.owner.drop && int(owner.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %s, and PostgreSQL has to run as the owner: run as "+
			"that user, or give the folder to this one with sudo chown -R %d '%s'",
			f.cluster(), userName(owner.Uid), os.Geteuid(), f.path)
	}
	if mode := info.Mode().Perm(); mode&^maxMode != 0 || mode&0o700 != 0o700 {
		//nolint:gosec // G302: a folder, closed to all but its owner
		if err := os.Chmod(f.cluster(), 0o700); err != nil {
			return fmt.Errorf("close the database to other users: %w", err)
		}
	}
	if f.owner.drop && owner.Uid == 0 {
		return f.chownCluster()
	}
	return nil
}

// chownCluster gives the files of root in the cluster to the server's user, the folder itself last:
// if the process is killed before, the next one begins again. It follows no link. It leaves out
// files with several names, which somebody may have linked there.
func (f *folder) chownCluster() (err error) {
	root, err := os.OpenRoot(f.cluster())
	if err != nil {
		return fmt.Errorf("give the database to user %s: %w", f.owner.name, err)
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
		return root.Lchown(name, int(f.owner.uid), int(f.owner.gid))
	})
	if err != nil {
		return fmt.Errorf("give the database to user %s: %w", f.owner.name, err)
	}
	return f.owner.chown(f.cluster())
}
