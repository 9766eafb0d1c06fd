package spool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// recover reads the segments of earlier processes.
func (s *Spool) recover() error {
	entries, err := os.ReadDir(s.cfg.Dir)
	if err != nil {
		return err
	}
	var numbers []uint64
	for _, entry := range entries {
		name, _, _ := strings.Cut(entry.Name(), ".")
		number, err := strconv.ParseUint(name, 10, 64)
		if err != nil {
			continue
		}
		s.last = max(s.last, number)
		if entry.Name() == segmentName(number) {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	for i, number := range numbers {
		segment, whole, err := scanSegment(s.cfg.Dir, number)
		if err != nil {
			return err
		}
		// A crash has cut off the last record. The rest of the record is removed, because it would
		// look like damage once other segments follow.
		if !whole && i == len(numbers)-1 {
			if err := truncate(segment.path, segment.end); err != nil {
				return err
			}
			whole = true
		}
		if err := s.adopt(segment, whole); err != nil {
			return err
		}
	}
	return nil
}

func truncate(path string, size int64) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Truncate(size), file.Sync(), file.Close())
}

// adopt adds a segment to the queue. If sound is false, a second name of the file keeps it for
// repair after the queue has deleted the segment.
func (s *Spool) adopt(segment *segmentFile, sound bool) error {
	if !sound {
		s.damaged++
		if err := keepAside(segment.path); err != nil {
			return err
		}
	}
	if segment.records == 0 {
		return os.Remove(segment.path)
	}
	s.segments = append(s.segments, segment)
	s.bytes += segment.end
	return nil
}

// passBy gives up the oldest segment if err says that its next record is gone for good. It then
// returns err with the number of lost records, and keeps a damaged file for repair. Otherwise, or
// if the file cannot be kept, the segment stays in the queue.
func (s *Spool) passBy(err error) error {
	oldest := s.segments[0]
	lost := oldest.records - s.removed.records
	switch {
	case errors.Is(err, os.ErrNotExist):
	case errors.Is(err, errDamaged), errors.Is(err, io.EOF):
		if linked := keepAside(oldest.path); linked != nil {
			return errors.Join(err, linked)
		}
	default:
		return err // the disk may answer again
	}
	s.removed.records = oldest.records
	s.discard()
	return fmt.Errorf("%w; %d records are lost", err, lost)
}

// keepAside links a damaged segment to another name, so that it stays for repair after the queue
// has deleted it.
func keepAside(path string) error {
	if err := os.Link(path, path+".damaged"); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}
