package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// draftSuffix is at the end of the name of a draft.
const draftSuffix = ".partial"

// ErrBusy means that another process is making the same folder.
var ErrBusy = errors.New("another process is writing there")

// Draft is a folder that is being made. Until it is complete, it has the name of the result with
// draftSuffix.
type Draft struct {
	Path string // of the draft

	to     string
	parent *os.File
	folder *os.File // locked
	done   bool
}

// Begin makes an empty draft of the folder to. It does not make the parents of the folder, so that
// it does not fill the mount point of a disk that is not mounted. It removes what a killed process
// has left of a draft of the same folder. It returns ErrBusy if another process makes one.
func Begin(to string) (d *Draft, err error) {
	to = filepath.Clean(to)
	d = &Draft{Path: to + draftSuffix, to: to}
	d.parent, err = os.Open(filepath.Dir(to))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf(
			"the folder %s does not exist: is its disk mounted? If it is, make the folder",
			filepath.Dir(to),
		)
	}
	if err != nil {
		return nil, err
	}
	err = d.locked(func() error {
		if err := os.Mkdir(d.Path, folderMode); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if d.folder, err = os.Open(d.Path); err != nil {
			return err
		}
		if err := flock(d.folder, unix.LOCK_EX|unix.LOCK_NB); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", d.Path, ErrBusy), d.folder.Close())
		}
		if err := clearFolder(d.Path); err != nil {
			return errors.Join(err, d.folder.Close())
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, d.parent.Close())
	}
	return d, nil
}

// locked calls run. Meanwhile no other process begins or ends a draft in the same parent folder.
func (d *Draft) locked(run func() error) error {
	if err := flock(d.parent, unix.LOCK_EX); err != nil {
		return err
	}
	return errors.Join(run(), flock(d.parent, unix.LOCK_UN))
}

func flock(folder *os.File, how int) error {
	for {
		err := unix.Flock(int(folder.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

func clearFolder(path string) error {
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(path, e.Name())))
	}
	return err
}

// Finish makes the draft durable and gives it its final name. If a folder has that name already,
// the two exchange their names in one step, and Finish removes the former folder.
func (d *Draft) Finish() error { return d.FinishAs(d.to) }

// FinishAs is Finish with another final name in the same parent folder.
func (d *Draft) FinishAs(to string) error {
	d.to = to
	if err := SyncTree(d.Path); err != nil {
		return err
	}
	return d.locked(func() error {
		_, err := os.Lstat(d.to)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			err = os.Rename(d.Path, d.to)
			d.done = err == nil
		case err == nil:
			err = unix.Renameat2(
				unix.AT_FDCWD, d.Path, unix.AT_FDCWD, d.to, unix.RENAME_EXCHANGE,
			)
			if err != nil {
				err = fmt.Errorf(
					"the backup in %s cannot be replaced: %w: choose a new folder", d.to, err,
				)
			}
		}
		if err == nil {
			err = d.parent.Sync()
		}
		if err == nil && !d.done {
			d.done = true
			err = os.RemoveAll(d.Path)
		}
		return err
	})
}

// End removes the draft unless Finish has given it its final name.
func (d *Draft) End() {
	if !d.done {
		_ = d.locked(func() error { return os.RemoveAll(d.Path) }) // or else the next Begin does
	}
	_ = d.folder.Close()
	_ = d.parent.Close()
}

// SyncTree makes the directory entries of a folder, and of all folders in it, durable.
func SyncTree(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := SyncTree(filepath.Join(path, e.Name())); err != nil {
				return err
			}
		}
	}
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
