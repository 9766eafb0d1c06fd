package disk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// ReserveBytes is the free space below which no writes are accepted. Pebble needs space after a
// write, to flush a memtable, and more than MinFreeBytes must be left to open the store again.
const ReserveBytes = MinFreeBytes + MemTableBytes

// probeName is the name of the file that Probe writes.
const probeName = "probe.tmp"

// spaceInterval is how long a check of the free space is valid. A check costs some microseconds.
// What is written within one interval is a small part of ReserveBytes.
const spaceInterval = 20 * time.Millisecond

// CheckSpace returns an error that wraps ErrFull if less space is free than ReserveBytes plus the
// spare bytes of Open. The remedy is to free some space. Writes are then accepted again soon. If
// the file system does not report its free space, CheckSpace returns nil.
func (d *DB) CheckSpace(ctx context.Context) error {
	d.space.Lock()
	defer d.space.Unlock()
	if now := time.Now(); now.Sub(d.looked) > spaceInterval {
		d.looked, d.lacks = now, checkFree(d.fsys, d.dir, ReserveBytes+d.spare)
		d.full.Report(ctx, d.lacks)
	}
	return d.lacks
}

// checkFree returns an error that wraps ErrFull if the disk of dir has less free space than bytes.
func checkFree(fsys vfs.FS, dir string, bytes uint64) error {
	usage, err := fsys.GetDiskUsage(dir)
	if err != nil || usage.AvailBytes >= bytes {
		return nil //nolint:nilerr // the file system does not tell
	}
	return fmt.Errorf("%w: the disk of %s has %d MiB free, but at least %d MiB are needed",
		ErrFull, dir, usage.AvailBytes>>20, bytes>>20)
}

// Probe returns nil if the disk of a folder accepts writes. It checks whether the disk has the free
// space that writes of an open database need. It also writes a small file and makes it durable.
func Probe(dir string, fsys vfs.FS, spare uint64) error {
	if err := checkFree(fsys, dir, ReserveBytes+spare); err != nil {
		return err
	}
	path := fsys.PathJoin(dir, probeName)
	file, err := fsys.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = file.Write(zeros[:4096])
	return errors.Join(err, file.Sync(), file.Close(), fsys.Remove(path))
}
