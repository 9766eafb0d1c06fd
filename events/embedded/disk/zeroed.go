package disk

import (
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	logSuffix = ".log" // of the files of Pebble's write-ahead log
	// zeroChunk is how many bytes of a write-ahead log are filled at a time. A sync that has to
	// write a chunk takes a millisecond. About one sync in a few hundred has to.
	zeroChunk = 512 << 10
)

var zeros [zeroChunk]byte

// zeroedFS fills write-ahead logs with zeros ahead of the written data. A sync after overwriting
// zeros takes half as long as a sync after extending a file, even if space was allocated for the
// file, because the file system need not write metadata of the file. For the same reason Pebble
// itself reuses old logs, from the second log on. Pebble takes zeros for the end of a log.
type zeroedFS struct {
	vfs.FS

	written *sync.Map // of *zeroedFile, the logs that are being written, by name
}

func newZeroedFS(fsys vfs.FS) zeroedFS { return zeroedFS{fsys, new(sync.Map)} }

// Create implements vfs.FS.
func (fs zeroedFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := fs.FS.Create(name, category)
	if err != nil || !strings.HasSuffix(name, logSuffix) {
		return f, err
	}
	return fs.log(name, f, 0), nil
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
	return fs.log(newName, f, info.Size()), nil
}

func (fs zeroedFS) log(name string, f vfs.File, filled int64) *zeroedFile {
	log := &zeroedFile{File: f, filled: filled}
	log.closed = func() { fs.written.CompareAndDelete(name, log) }
	fs.written.Store(name, log)
	return log
}

// Open implements vfs.FS. If a log is still being written, the opened file ends where the log ends
// at the time of the call. A reader that continued behind this end could find zeros, and after
// them data that was written while it read.
func (fs zeroedFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	log, isWritten := fs.written.Load(name)
	if !isWritten {
		return fs.FS.Open(name, opts...)
	}
	end := log.(*zeroedFile).written.Load() //nolint:forcetypeassert // the map has nothing else
	f, err := fs.FS.Open(name, opts...)
	if err != nil {
		return nil, err
	}
	return &endedFile{f, io.LimitReader(f, end)}, nil
}

// endedFile is a file that is read sequentially up to an end.
type endedFile struct {
	vfs.File

	reader io.Reader
}

// Read implements io.Reader.
func (f *endedFile) Read(p []byte) (int, error) { return f.reader.Read(p) }

// Unwrap implements vfs.FS.
func (fs zeroedFS) Unwrap() vfs.FS { return fs.FS }

// zeroedFile is a write-ahead log.
type zeroedFile struct {
	vfs.File

	written atomic.Int64 // end of the written data; there is one writer
	filled  int64        // end of the zeros
	closed  func()
}

// Write implements io.Writer. It ignores an error of filling, because the write itself fails if the
// disk is full.
func (f *zeroedFile) Write(p []byte) (int, error) {
	if end := f.written.Load() + int64(len(p)); end > f.filled {
		n, _ := f.WriteAt(zeros[:], end)
		f.filled = end + int64(n)
	}
	n, err := f.File.Write(p)
	f.written.Add(int64(n))
	return n, err
}

// Close implements io.Closer.
func (f *zeroedFile) Close() error {
	f.closed()
	return f.File.Close()
}
