package pgserver

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"linkledger/internal/pgserver/serveruser"
)

// maxMode is the widest mode of a cluster that PostgreSQL accepts.
const maxMode = 0o750

// mend gives a copied cluster back to the server's user and closes it to other users: cp -r gives
// all files to the user who runs it, and PostgreSQL refuses such a cluster. mend does not touch a
// cluster that is a link.
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
	if !f.owner.Drop && int(owner.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %s, and PostgreSQL has to run as the owner: run as "+
			"that user, or give the folder to this one with sudo chown -R %d '%s'",
			f.cluster(), serveruser.NameOf(owner.Uid), os.Geteuid(), f.path)
	}
	if mode := info.Mode().Perm(); mode&^maxMode != 0 || mode&0o700 != 0o700 {
		//nolint:gosec // G302: a folder, closed to all but its owner
		if err := os.Chmod(f.cluster(), 0o700); err != nil {
			return fmt.Errorf("close the database to other users: %w", err)
		}
	}
	if f.owner.Drop && owner.Uid == 0 {
		return f.owner.ChownAll(f.cluster())
	}
	return nil
}
