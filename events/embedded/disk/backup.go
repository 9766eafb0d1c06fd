package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// ErrExists is returned if the folder of a backup exists. The remedy is to choose another one.
var ErrExists = errors.New("exists already")

// Backup copies the database to dir while the database remains in use. The copy is itself a data
// folder and holds every event that was acknowledged before the call. dir appears once the copy is
// complete. On the same disk the copy shares the immutable files of the database. It then takes
// little time and space, but does not protect against the loss of the disk.
func (d *DB) Backup(dir string) (err error) {
	fsys := d.fsys
	// Pebble creates its folder readable by everyone. The draft's mode protects the copy until its
	// own mode is set.
	draft := dir + ".partial"
	for _, path := range []string{dir, draft} {
		if _, err := fsys.Stat(path); err == nil {
			return fmt.Errorf("%s %w", path, ErrExists)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := fsys.MkdirAll(draft, folderMode); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fsys.RemoveAll(draft)) }()
	full := fsys.PathJoin(draft, "events")
	if err := d.Checkpoint(full, pebble.WithFlushedWAL()); err != nil {
		return err
	}
	if err := writeFormat(full, fsys); err != nil {
		return err
	}
	if fsys == vfs.Default { // other file systems have no modes
		if err := os.Chmod(full, folderMode); err != nil {
			return err
		}
	}
	if err := fsys.Rename(full, dir); err != nil {
		return err
	}
	return syncFolder(fsys, fsys.PathDir(dir))
}
