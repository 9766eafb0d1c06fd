package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// ErrExists says that the place of a backup is taken. Choose another one.
var ErrExists = errors.New("exists already")

// Backup copies the database to dir while it goes on serving. The copy holds every
// event that was acknowledged before the call, and is itself a data folder. It
// appears under its name when it is complete. On the same disk it shares the
// files that never change, so it takes little time and space, and protects from
// mistakes but not from the loss of the disk.
func (d *DB) Backup(dir string) (err error) {
	fsys := d.fsys
	draft := dir + ".partial" // closed to others until the copy is, too
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
	if fsys == vfs.Default { // Pebble lets everybody read
		if err := os.Chmod(full, folderMode); err != nil {
			return err
		}
	}
	if err := fsys.Rename(full, dir); err != nil {
		return err
	}
	return syncFolder(fsys, fsys.PathDir(dir))
}
