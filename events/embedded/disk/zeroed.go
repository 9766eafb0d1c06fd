package disk

import (
	"errors"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	logSuffix = ".log" // of the names of Pebble's write-ahead logs
	// zeroAhead is how much of a write-ahead log is filled at a time: a sync
	// that has to write it takes a millisecond, one in some hundred.
	zeroAhead = 512 << 10
)

var zeros [zeroAhead]byte

// zeroedFS fills write-ahead logs with zeros ahead of what is written. To sync
// what overwrites them takes half as long as to sync what makes a file longer,
// also where room was allocated, because the file system then has nothing to
// say of the file. Pebble reuses its logs for the same reason, from the second
// one on. It reads zeros as the end of a log.
type zeroedFS struct{ vfs.FS }

// Create implements vfs.FS.
func (fs zeroedFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := fs.FS.Create(name, category)
	if err != nil || !strings.HasSuffix(name, logSuffix) {
		return f, err
	}
	return &zeroedFile{File: f}, nil
}

// ReuseForWrite implements vfs.FS.
func (fs zeroedFS) ReuseForWrite(
	oldName, newName string, category vfs.DiskWriteCategory,
) (vfs.File, error) {
	f, err := fs.FS.ReuseForWrite(oldName, newName, category)
	if err != nil || !strings.HasSuffix(newName, logSuffix) {
		return f, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &zeroedFile{File: f, filled: info.Size()}, nil
}

// Unwrap implements vfs.FS.
func (fs zeroedFS) Unwrap() vfs.FS { return fs.FS }

// zeroedFile is a write-ahead log.
type zeroedFile struct {
	vfs.File

	written int64
	filled  int64 // the length of the file, as far as it matters
}

// Write implements io.Writer. Where the file can't be filled it is only
// written: whether there is room, the write itself tells.
func (f *zeroedFile) Write(p []byte) (int, error) {
	if end := f.written + int64(len(p)); end > f.filled {
		n, _ := f.WriteAt(zeros[:], end)
		f.filled = end + int64(n)
	}
	n, err := f.File.Write(p)
	f.written += int64(n)
	return n, err
}
