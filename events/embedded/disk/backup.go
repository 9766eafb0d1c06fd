package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"

	"linkledger/events/embedded/backup"
)

// frozenFolder is a folder within the data folder. It holds the folders that Freeze makes. Open
// removes what a killed process has left there.
const frozenFolder = "backup.tmp"

// frozenBytes is the free space that Freeze needs for its copies of write-ahead logs, in addition
// to the space for writes.
const frozenBytes = 3 * MemTableBytes

// Freeze makes a folder with the current state, including every event that was acknowledged before
// the call. The folder shares its tables with the database, which remains in use. name is the path
// of the folder within the data folder. The caller MUST call Release with this name.
func (d *DB) Freeze() (name string, err error) {
	if err := checkFree(d.fsys, d.dir, ReserveBytes+d.spare+frozenBytes); err != nil {
		return "", err
	}
	name = d.fsys.PathJoin(frozenFolder, uuid.NewString())
	path := d.fsys.PathJoin(d.dir, name)
	if err := d.Checkpoint(path, pebble.WithFlushedWAL()); err != nil {
		return "", err
	}
	if err := writeFormat(path, d.fsys); err != nil {
		return "", errors.Join(err, d.Release(name))
	}
	return name, nil
}

// Release removes a folder that Freeze has made.
func (d *DB) Release(name string) error {
	return d.fsys.RemoveAll(d.fsys.PathJoin(d.dir, name))
}

// adoptBackup turns a backup into the folder of a store, whose files may change from now on. It
// refuses a backup that differs from its manifest.
func adoptBackup(dir string, fsys vfs.FS) error {
	m, err := backup.Read(fsys, dir)
	if errors.Is(err, backup.ErrNone) {
		// If an earlier adoption was killed, the manifest may still be there.
		return fsys.RemoveAll(fsys.PathJoin(dir, backup.ManifestFile))
	}
	if err != nil {
		return err
	}
	if err := quickCheck(dir, fsys, m); err != nil {
		return err
	}
	if err := replaceFormat(dir, fsys); err != nil {
		return err
	}
	return fsys.RemoveAll(fsys.PathJoin(dir, backup.ManifestFile))
}

// checkBackup returns an error if a folder is a backup that differs from its manifest. It accepts
// any folder that is no backup.
func checkBackup(dir string, fsys vfs.FS) error {
	m, err := backup.Read(fsys, dir)
	switch {
	case errors.Is(err, backup.ErrNone), errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return quickCheck(dir, fsys, m)
}

func quickCheck(dir string, fsys vfs.FS, m *backup.Manifest) error {
	problems, err := m.Compare(context.Background(), fsys, dir, true)
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return fmt.Errorf(
			"%w: %s (linkledger eventstore check lists all problems): use another backup",
			backup.ErrDamaged, problems[0],
		)
	}
	return nil
}
