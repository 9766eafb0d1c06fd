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
	// Format 1 did not count items. Its format line has the same length.
	formatLine1 = "linkledger spool 1\n"
	headerSize1 = 4 + 4 + 8
	// MaxRecord is the size of the largest record, in bytes.
	MaxRecord = 16 << 20
)

// errDamaged means that a segment ends within a record, or that a record differs from what was
// written.
var errDamaged = errors.New("record is cut off or damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func segmentName(number uint64) string { return fmt.Sprintf("%08d.spool", number) }

// layout has the size of the header of a record, which depends on the format.
type layout struct{ header int64 }

var (
	currentLayout = layout{headerSize}
	layout1       = layout{headerSize1}
)

// record is one entry of a segment.
type record struct {
	at    time.Time
	items int
	body  []byte
}

// encode returns the record in the current format.
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

// size returns the bytes of a record on the disk.
func (l layout) size(r record) int64 { return l.header + int64(len(r.body)) }

// read reads the record at an offset. It returns io.EOF at the end of the segment, and errDamaged
// for a record that is cut off or damaged.
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

// readError returns errDamaged for an end of the file within a record, and err otherwise.
func readError(n int, err error) error {
	if errors.Is(err, io.EOF) && n > 0 {
		return errDamaged
	}
	return err
}

// segmentFile is one file of the queue.
type segmentFile struct {
	number  uint64
	path    string
	layout  layout
	records int   // that can be read
	items   int   // of the readable records
	end     int64 // of the last readable record
	first   time.Time
}

func newSegment(folder string, number uint64) *segmentFile {
	return &segmentFile{
		number: number, path: filepath.Join(folder, segmentName(number)), layout: currentLayout,
		end: int64(len(formatLine)),
	}
}

// createSegment creates the file of a new segment, durably. After an error the file may exist.
func createSegment(folder string, number uint64) (*segmentFile, *os.File, error) {
	s := newSegment(folder, number)
	file, err := os.OpenFile(s.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return s, nil, err
	}
	_, err = file.WriteString(formatLine)
	if err = errors.Join(err, syncFolder(folder)); err != nil {
		return s, nil, errors.Join(err, file.Close())
	}
	return s, file, nil
}

// scanSegment reads a segment of an earlier process. whole is false if its format line is unknown,
// or if a record is cut off or damaged. A disk that cannot be read is an error, and no damage.
func scanSegment(folder string, number uint64) (s *segmentFile, whole bool, err error) {
	s = newSegment(folder, number)
	file, err := os.Open(s.path)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	line := make([]byte, len(formatLine))
	if _, err := file.ReadAt(line, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	if string(line) != formatLine && string(line) != formatLine1 {
		return s, false, nil
	}
	if string(line) == formatLine1 {
		s.layout = layout1
	}
	for {
		r, err := s.layout.read(file, s.end)
		switch {
		case errors.Is(err, io.EOF):
			return s, true, nil
		case errors.Is(err, errDamaged):
			return s, false, nil
		case err != nil:
			return nil, false, err
		}
		s.count(r)
	}
}

// count counts the record that was read or written at the end of the segment.
func (s *segmentFile) count(r record) {
	if s.records == 0 {
		s.first = r.at
	}
	s.records++
	s.items += r.items
	s.end += s.layout.size(r)
}

// syncFolder makes the file names of a folder durable.
func syncFolder(folder string) error {
	file, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
