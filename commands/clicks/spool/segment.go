package spool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"time"
)

const (
	formatLine = "linkledger spool 2\n"
	headerSize = 4 + 4 + 8 + 4 // length, checksum, time, items
	// Format 1 did not count items. Its line is as long.
	formatLine1 = "linkledger spool 1\n"
	headerSize1 = 4 + 4 + 8
	// MaxRecord is the size of the largest record, in bytes.
	MaxRecord = 16 << 20
)

// errDamaged means that a segment ends within a record, or that the record is not what was written.
var errDamaged = errors.New("record is cut off or damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func segmentName(number uint64) string { return fmt.Sprintf("%08d.spool", number) }

// layout is where the parts of a record lie.
type layout struct{ header int64 }

var (
	currentLayout = layout{headerSize}
	layout1       = layout{headerSize1}
)

// record is what a segment holds.
type record struct {
	at    time.Time
	items int
	body  []byte
}

// encode returns the record as it is written.
func (r record) encode() []byte {
	b := make([]byte, headerSize, headerSize+len(r.body))
	binary.LittleEndian.PutUint32(b, uint32(len(r.body))) //nolint:gosec // at most MaxRecord
	binary.LittleEndian.PutUint64(b[8:], uint64(r.at.UnixNano()))
	//nolint:gosec // the items of at most MaxRecord bytes
	binary.LittleEndian.PutUint32(b[16:], uint32(r.items))
	b = append(b, r.body...)
	binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(b[8:], castagnoli))
	return b
}

// size is what a record takes on the disk.
func (l layout) size(r record) int64 { return l.header + int64(len(r.body)) }

// read reads the record at an offset. The end of the segment is io.EOF, a record that is not whole
// errDamaged.
func (l layout) read(file io.ReaderAt, offset int64) (record, error) {
	var start [8]byte
	if n, err := file.ReadAt(start[:], offset); err != nil {
		return record{}, readError(n, err)
	}
	length := binary.LittleEndian.Uint32(start[:])
	if length > MaxRecord {
		return record{}, errDamaged
	}
	b := make([]byte, l.header-8+int64(length)) // what the checksum covers
	if n, err := file.ReadAt(b, offset+8); err != nil && (n < len(b) || !errors.Is(err, io.EOF)) {
		return record{}, readError(1, err)
	}
	if crc32.Checksum(b, castagnoli) != binary.LittleEndian.Uint32(start[4:]) {
		return record{}, errDamaged
	}
	//nolint:gosec // the same bits went in
	r := record{
		at: time.Unix(0, int64(binary.LittleEndian.Uint64(b))), items: 1, body: b[l.header-8:],
	}
	if l == currentLayout {
		r.items = int(binary.LittleEndian.Uint32(b[8:]))
	}
	return r, nil
}

// readError tells an end between records from one within a record.
func readError(n int, err error) error {
	if errors.Is(err, io.EOF) && n > 0 {
		return errDamaged
	}
	return err
}

// segmentFile is a file of the queue.
type segmentFile struct {
	number  uint64
	path    string
	layout  layout
	records int   // that can be read
	items   int   // of these
	end     int64 // of the last of them
	first   time.Time
}

func newSegment(folder string, number uint64) *segmentFile {
	return &segmentFile{
		number: number, path: filepath.Join(folder, segmentName(number)), layout: currentLayout,
		end: int64(len(formatLine)),
	}
}

// createSegment makes the file of a new segment, durably.
func createSegment(folder string, number uint64) (*segmentFile, *os.File, error) {
	s := newSegment(folder, number)
	file, err := os.OpenFile(s.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	_, err = file.WriteString(formatLine)
	if err = errors.Join(err, syncFolder(folder)); err != nil {
		return nil, nil, errors.Join(err, file.Close(), os.Remove(s.path))
	}
	return s, file, nil
}

// scanSegment reads through a segment of an earlier process. It is not whole when something cannot
// be read.
func scanSegment(folder string, number uint64) (s *segmentFile, whole bool, err error) {
	s = newSegment(folder, number)
	file, err := os.Open(s.path)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	line := make([]byte, len(formatLine))
	if _, err := file.ReadAt(line, 0); err != nil ||
		string(line) != formatLine && string(line) != formatLine1 {
		return s, false, nil //nolint:nilerr // what cannot be read ends the segment
	}
	if string(line) == formatLine1 {
		s.layout = layout1
	}
	for {
		r, err := s.layout.read(file, s.end)
		if errors.Is(err, io.EOF) {
			return s, true, nil
		}
		if err != nil {
			return s, false, nil //nolint:nilerr // what cannot be read ends the segment
		}
		s.count(r)
	}
}

// count counts a record that is at the end of the segment.
func (s *segmentFile) count(r record) {
	if s.records == 0 {
		s.first = r.at
	}
	s.records++
	s.items += r.items
	s.end += s.layout.size(r)
}

// syncFolder makes the names in a folder durable.
func syncFolder(folder string) error {
	file, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
