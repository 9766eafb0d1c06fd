package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

const (
	// reserve is the free space that the queue leaves on its disk for others, in bytes.
	reserve = 16 << 20
	// reservedPart bounds the reserve of a small disk: one part in so many.
	reservedPart = 16
	// probeName is the name of the file that shows whether a disk that has failed works again.
	probeName = "probe"
)

// checkSpace returns an error that wraps ErrFull if the disk of the folder has less free space than
// the reserve and a number of bytes.
func checkSpace(folder string, bytes int64) error {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(folder, &disk); err != nil {
		return nil //nolint:nilerr // the write will tell
	}
	block := uint64(disk.Bsize) //nolint:gosec // positive
	kept := min(uint64(reserve), disk.Blocks*block/reservedPart)
	//nolint:gosec // the size of a record
	if free := disk.Bavail * block; free < kept+uint64(bytes) {
		return fmt.Errorf("%w: of its disk %d MiB are free, and %d MiB are left to others",
			ErrFull, free>>20, kept>>20)
	}
	return nil
}

// Trouble returns why the queue takes no records, or nil: its disk has no space, or has failed the
// last record and fails still.
func (s *Spool) Trouble() error {
	if err := checkSpace(s.cfg.Dir, 0); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure != nil && !s.closed && probe(s.cfg.Dir) == nil {
		s.failure = nil
	}
	return s.failure
}

// probe returns nil if a file that is written to the folder becomes durable.
func probe(folder string) error {
	path := filepath.Join(folder, probeName)
	return errors.Join(writeFile(path, "probe"), os.Remove(path))
}
