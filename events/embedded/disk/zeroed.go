package disk

import (
	"errors"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	logSuffix = ".log" // of the files of Pebble's write-ahead log
	// zeroChunk is how many bytes of a write-ahead log are filled at a time. A sync that has to
	// write a chunk takes a millisecond. About one sync in a few hundred does.
	zeroChunk = 512 << 10
)

var zeros [zeroChunk]byte

// zeroedFS fills write-ahead logs with zeros ahead of the written data. A sync after overwriting
// zeros takes half as long as a sync after extending a file, even if space was allocated for it,
// because the file system need not write metadata of the file. Pebble reuses its logs for the same
// reason, from the second log on. It reads zeros as the end of a log.
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
	filled  int64 // how far the file is filled
}

// Write implements io.Writer. It ignores an error of filling, because the write itself fails if the
// disk is full.
func (f *zeroedFile) Write(p []byte) (int, error) {
	if end := f.written + int64(len(p)); end > f.filled {
		n, _ := f.WriteAt(zeros[:], end)
		f.filled = end + int64(n)
	}
	n, err := f.File.Write(p)
	f.written += int64(n)
	return n, err
}
