package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
)

var (
	// ErrFull means that the queue has its largest size, or that its disk has no space: remove
	// records first, or free space.
	ErrFull = errors.New("the spool is full")
	// ErrLocked means that another process uses the folder: give each process its own.
	ErrLocked = errors.New("the spool is used by another process")
	// ErrEmpty means that the queue has no record.
	ErrEmpty = errors.New("the spool is empty")
	// ErrClosed means that the spool was closed.
	ErrClosed = errors.New("the spool is closed")
)

// Config of a Spool. Zero values of the sizes mean their defaults.
type Config struct {
	Dir          string
	MaxBytes     int64 // of all records on the disk; 0: 1 GiB
	SegmentBytes int64 // size at which the next segment begins; 0: 16 MiB
}

// Spool is a durable queue. It is safe for concurrent use.
type Spool struct {
	cfg     Config
	node    string
	lock    *os.File
	damaged int           // segments that Open could not read to their end
	arrived chan struct{} // holds a token after an append

	mu        sync.Mutex
	closed    bool
	segments  []*segmentFile   // the oldest first
	last      uint64           // largest number of a segment so far
	out       *os.File         // the newest segment, for appending; nil: begin another
	in        *os.File         // the oldest segment, for reading; nil: not open
	offset    int64            // in the oldest segment, of the oldest record
	removed   Batch            // removed from the oldest segment, without the bodies
	bytes     int64            // of all segments
	failure   error            // of the last write to the disk; nil: it succeeded
	tried     time.Time        // when the disk was tried last
	unsettled map[string]int64 // by path: the sizes that the disk has refused to set
}

// Open locks the folder and reads its segments. It creates the folder if it is missing, but no
// folder above it.
func Open(cfg Config) (_ *Spool, err error) {
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = 1 << 30
	}
	if cfg.SegmentBytes == 0 {
		cfg.SegmentBytes = 16 << 20
	}
	// No folder above it is created, so that nothing is written to the mount point of a disk that
	// is not mounted.
	if err := os.Mkdir(cfg.Dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("open the spool: %w", err)
	}
	s := &Spool{
		cfg: cfg, arrived: make(chan struct{}, 1), offset: int64(len(formatLine)),
		unsettled: make(map[string]int64),
	}
	if s.lock, err = lockFolder(cfg.Dir); err != nil {
		return nil, fmt.Errorf("open the spool in %s: %w", cfg.Dir, err)
	}
	if s.node, err = nodeID(cfg.Dir); err == nil {
		err = s.recover()
	}
	if err != nil {
		return nil, errors.Join(
			fmt.Errorf("open the spool in %s: %w", cfg.Dir, err), s.lock.Close(),
		)
	}
	if len(s.segments) > 0 {
		s.arrived <- struct{}{}
	}
	return s, nil
}

func lockFolder(folder string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(ErrLocked, file.Close())
	}
	return file, nil
}

// nodeID returns the id of the folder. The id is drawn at the first use.
func nodeID(folder string) (string, error) {
	path := filepath.Join(folder, "node")
	known, err := os.ReadFile(path)
	if id, parseErr := uuid.ParseBytes(known); err == nil && parseErr == nil {
		return id.String(), nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	// There was no id, or a crash cut it off before it was used.
	id := uuid.NewString()
	if err := writeFile(path+".new", id); err != nil {
		return "", err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return "", err
	}
	return id, syncFolder(folder)
}

func writeFile(path, text string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Sync(), file.Close())
}

// Node returns the id of the folder.
func (s *Spool) Node() string { return s.node }

// Damaged returns how many segments could not be read to their end by Open.
func (s *Spool) Damaged() int { return s.damaged }

// Arrived returns a channel that has a token after an append, and at the start if there are
// records.
func (s *Spool) Arrived() <-chan struct{} { return s.arrived }

// Append adds a record that stands for a number of items, and returns when it is durable. If it
// returns an error, the record is not in the queue.
func (s *Spool) Append(body []byte, items int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := record{at: time.Now(), items: items, body: body}
	switch {
	case s.closed:
		return ErrClosed
	case len(body) > MaxRecord:
		return fmt.Errorf("record of %d bytes, at most %d can be spooled", len(body), MaxRecord)
	case s.bytes+currentLayout.size(r) > s.cfg.MaxBytes:
		return ErrFull
	}
	s.failure, s.tried = checkSpace(s.cfg.Dir, currentLayout.size(r)), r.at
	if s.failure == nil {
		s.failure = s.write(r)
	}
	if s.failure != nil {
		return fmt.Errorf("append to the spool: %w", s.failure)
	}
	select {
	case s.arrived <- struct{}{}:
	default:
	}
	return nil
}

// write adds a record to the newest segment. After a failure the state of the file is unknown: the
// record is cut off as soon as possible, and the next one goes to another segment.
func (s *Spool) write(r record) error {
	if s.out == nil || s.newest().end > s.cfg.SegmentBytes {
		if err := s.startSegment(); err != nil {
			return err
		}
	}
	segment := s.newest()
	_, err := s.out.WriteAt(r.encode(), segment.end)
	if err == nil {
		err = s.out.Sync()
	}
	if err != nil {
		err = errors.Join(err, s.out.Close())
		s.out = nil
		s.resize(segment.path, segment.end)
		return err
	}
	s.bytes += segment.layout.size(r)
	segment.count(r)
	return nil
}

func (s *Spool) newest() *segmentFile { return s.segments[len(s.segments)-1] }

// startSegment starts the next segment.
func (s *Spool) startSegment() error {
	s.last++ // even after a failure, because the file of a failed try may still exist
	segment, file, err := createSegment(s.cfg.Dir, s.last)
	if err != nil {
		s.resize(segment.path, toRemove)
		return err
	}
	if s.out != nil {
		err = s.out.Close()
	}
	s.out = file
	s.segments = append(s.segments, segment)
	s.bytes += segment.end
	return err
}

// Batch is records in the order in which they came in.
type Batch struct {
	Bodies [][]byte
	Items  int // that the records stand for

	records int
	size    int64     // on the disk
	last    time.Time // time of the last record
}

func (b *Batch) add(r record, size int64) {
	b.Bodies = append(b.Bodies, r.body)
	b.Items += r.items
	b.records++
	b.size += size
	b.last = r.at
}

// Oldest returns the oldest records: at least one, and no further ones once the returned records
// have the given number of bytes. The records stay in the queue until Remove. Oldest returns
// ErrEmpty if there is no record. A missing or damaged segment is an error once: the next call
// continues with the segment after it.
func (s *Spool) Oldest(bytes int64) (Batch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return Batch{}, ErrClosed
	}
	s.discard()
	if len(s.segments) == 0 {
		return Batch{}, ErrEmpty
	}
	oldest := s.segments[0]
	if s.in == nil {
		var err error
		if s.in, err = os.Open(oldest.path); err != nil {
			return Batch{}, fmt.Errorf("read the spool: %w", s.passBy(err))
		}
	}
	var b Batch
	for s.offset+b.size < oldest.end && (b.records == 0 || b.size < bytes) {
		r, err := oldest.layout.read(s.in, s.offset+b.size)
		if err != nil && b.records > 0 {
			return b, nil // the next call, which begins here, returns the error
		}
		if err != nil {
			return Batch{}, fmt.Errorf(
				"read the spool: %s at %d: %w", oldest.path, s.offset, s.passBy(err),
			)
		}
		b.add(r, oldest.layout.size(r))
	}
	return b, nil
}

// Remove removes the records that Oldest has returned.
func (s *Spool) Remove(b Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	s.offset += b.size
	s.removed.records += b.records
	s.removed.Items += b.Items
	s.removed.last = b.last
	s.discard()
	return nil
}

// discard deletes the segments whose records are all removed. It deletes the newest one too, so an
// empty queue takes no space.
func (s *Spool) discard() {
	for len(s.segments) > 0 && s.removed.records == s.segments[0].records {
		if s.in != nil {
			_ = s.in.Close() // it was only read
			s.in = nil
		}
		if len(s.segments) == 1 && s.out != nil {
			_ = s.out.Close() // its records are removed
			s.out = nil
		}
		s.resize(s.segments[0].path, toRemove)
		s.bytes -= s.segments[0].end
		s.segments, s.offset, s.removed = s.segments[1:], int64(len(formatLine)), Batch{}
	}
}

// Close unlocks the folder. The records stay.
func (s *Spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	err := s.lock.Close()
	for _, file := range []*os.File{s.in, s.out} {
		if file != nil {
			err = errors.Join(err, file.Close())
		}
	}
	return err
}
