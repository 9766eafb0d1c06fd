package embeddedtest

import (
	"io/fs"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// Disk is a file system whose disk can fill up or fail. What was written before that can
// still be read.
type Disk struct {
	vfs.FS

	fault atomic.Pointer[func(errorfs.Op) error]
	free  atomic.Uint64
}

// NewDisk returns a Disk with much free space. of is the file system that keeps its files.
func NewDisk(of vfs.FS) *Disk {
	d := &Disk{}
	d.FS = errorfs.Wrap(of, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if fault := d.fault.Load(); fault != nil {
			return (*fault)(op)
		}
		return nil
	}))
	d.SetFree(1 << 40)
	return d
}

// SetFree sets the free space that the disk reports, in bytes.
func (d *Disk) SetFree(bytes uint64) { d.free.Store(bytes) }

// GetDiskUsage implements vfs.FS.
func (d *Disk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: d.free.Load(), TotalBytes: 1 << 40}, nil
}

// Unwrap implements vfs.FS.
func (d *Disk) Unwrap() vfs.FS { return d.FS }

// Break makes all operations that write fail with err, until Mend.
func (d *Disk) Break(err error) {
	d.breakIf(err, func(op errorfs.Op) bool { return op.Kind.ReadOrWrite() == errorfs.OpIsWrite })
}

// BreakSyncs makes all syncs fail with err, until Mend.
func (d *Disk) BreakSyncs(err error) {
	d.breakIf(err, func(op errorfs.Op) bool {
		switch op.Kind { //nolint:exhaustive // the syncs
		case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
			return true
		}
		return false
	})
}

func (d *Disk) breakIf(err error, broken func(errorfs.Op) bool) {
	fault := func(op errorfs.Op) error {
		// Making a folder that exists writes nothing, and neither does closing a file.
		if broken(op) && op.Kind != errorfs.OpMkdirAll && op.Kind != errorfs.OpFileClose {
			return &fs.PathError{Op: "write", Path: op.Path, Err: err}
		}
		return nil
	}
	d.fault.Store(&fault)
}

// Mend makes the disk work again.
func (d *Disk) Mend() { d.fault.Store(nil) }
