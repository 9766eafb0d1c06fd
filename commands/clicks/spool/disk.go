package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// reserve is the free space that the queue leaves on its disk for other programs, in bytes.
	reserve = 16 << 20
	// reservedPart bounds the reserve on a small disk: to 1/reservedPart of the disk.
	reservedPart = 16
	// probeName is the name of the file that shows whether the disk takes records.
	probeName = "probe"
	// probeInterval is how often the disk of a queue without appends is tried.
	probeInterval = 5 * time.Second
	// toRemove is the size in Spool.unsettled of a file that is to be removed.
	toRemove = -1
)

// checkSpace returns an error that wraps ErrFull if the disk of the folder has less free space than
// the reserve plus a number of bytes.
func checkSpace(folder string, bytes int64) error {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(folder, &disk); err != nil {
		return nil //nolint:nilerr // the write will tell
	}
	block := uint64(disk.Bsize) //nolint:gosec // positive
	kept := min(uint64(reserve), disk.Blocks*block/reservedPart)
	//nolint:gosec // the size of a record
	if free := disk.Bavail * block; free < kept+uint64(bytes) {
		return fmt.Errorf("%w: its disk has %d MiB free, and %d MiB are left to others",
			ErrFull, free>>20, kept>>20)
	}
	return nil
}

// Trouble returns nil if the queue takes records. Otherwise it returns the reason: the disk is
// full, or has failed. If the last append failed, or was more than probeInterval ago, Trouble
// writes a small file to find out.
func (s *Spool) Trouble() error {
	if err := checkSpace(s.cfg.Dir, 0); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && (s.failure != nil || time.Since(s.tried) > probeInterval) {
		s.tried = time.Now()
		s.failure = s.probe()
	}
	return s.failure
}

// probe returns nil if a small file in the folder can be made durable and removed, and if settle
// succeeds.
func (s *Spool) probe() error {
	path := filepath.Join(s.cfg.Dir, probeName)
	if err := writeFile(path, "probe"); err != nil {
		return err
	}
	return errors.Join(os.Remove(path), s.settle())
}

// resize cuts a file to a size, or removes it if the size is toRemove. If the disk refuses, settle
// tries again later. So the refusal stops neither the records in other files nor later records.
func (s *Spool) resize(path string, size int64) {
	s.unsettled[path] = size
	_ = s.settle() // Trouble reports it
}

// settle makes the changes of files in s.unsettled. A change that the disk refuses stays there.
func (s *Spool) settle() error {
	var refused error
	for path, size := range s.unsettled {
		change := func() error { return truncate(path, size) }
		if size == toRemove {
			change = func() error { return os.Remove(path) }
		}
		if err := change(); err != nil && !errors.Is(err, os.ErrNotExist) {
			refused = errors.Join(refused, err)
			continue
		}
		delete(s.unsettled, path)
	}
	return refused
}
