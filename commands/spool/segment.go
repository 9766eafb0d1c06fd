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
	formatLine = "linkledger spool 1\n"
	headerSize = 4 + 4 + 8 // length, checksum, time
	// MaxRecord is the size of the largest record, in bytes.
	MaxRecord = 16 << 20
)

// errCut means that a segment ends within a record, or that the record is not what was written.
var errCut = errors.New("record is cut off or damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func segmentName(number uint64) string { return fmt.Sprintf("%08d.spool", number) }

// record is what a segment holds.
type record struct {
	at   time.Time
	body []byte
}

// size is what the record takes on the disk.
func (r record) size() int64 { return headerSize + int64(len(r.body)) }

func (r record) encode() []byte {
	b := make([]byte, 0, r.size())
	b = binary.LittleEndian.AppendUint32(b, uint32(len(r.body))) //nolint:gosec // at most MaxRecord
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(r.at.UnixNano()))
	b = append(b, r.body...)
	binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(b[8:], castagnoli))
	return b
}

// readRecord reads the record at an offset. The end of the segment is io.EOF, a record that is not whole errCut.
func readRecord(file io.ReaderAt, offset int64) (record, error) {
	var header [headerSize]byte
	if n, err := file.ReadAt(header[:], offset); err != nil {
		return record{}, cut(n, err)
	}
	length := binary.LittleEndian.Uint32(header[:])
	if length > MaxRecord {
		return record{}, errCut
	}
	b := make([]byte, 8+length)
	copy(b, header[8:])
	if n, err := file.ReadAt(b[8:], offset+headerSize); err != nil && (n < int(length) || !errors.Is(err, io.EOF)) {
		return record{}, cut(1, err)
	}
	if crc32.Checksum(b, castagnoli) != binary.LittleEndian.Uint32(header[4:]) {
		return record{}, errCut
	}
	at := time.Unix(0, int64(binary.LittleEndian.Uint64(b))) //nolint:gosec // the same bits went in
	return record{at: at, body: b[8:]}, nil
}

// cut tells an end between records from one within a record.
func cut(n int, err error) error {
	if errors.Is(err, io.EOF) && n > 0 {
		return errCut
	}
	return err
}

// segment is a file of the queue.
type segment struct {
	number  uint64
	path    string
	records int   // that can be read
	end     int64 // of the last of them
	first   time.Time
}

// createSegment makes the file of a new segment, durably.
func createSegment(folder string, number uint64) (*segment, *os.File, error) {
	s := &segment{number: number, path: filepath.Join(folder, segmentName(number)), end: int64(len(formatLine))}
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

// scanSegment reads through a segment of an earlier process. It is not whole when something cannot be read.
func scanSegment(folder string, number uint64) (s *segment, whole bool, err error) {
	s = &segment{number: number, path: filepath.Join(folder, segmentName(number)), end: int64(len(formatLine))}
	file, err := os.Open(s.path)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	line := make([]byte, len(formatLine))
	if _, err := file.ReadAt(line, 0); err != nil || string(line) != formatLine {
		return s, false, nil //nolint:nilerr // what cannot be read ends the segment
	}
	for {
		r, err := readRecord(file, s.end)
		if errors.Is(err, io.EOF) {
			return s, true, nil
		}
		if err != nil {
			return s, false, nil //nolint:nilerr // what cannot be read ends the segment
		}
		s.note(r)
	}
}

// note counts a record that is at the end of the segment.
func (s *segment) note(r record) {
	if s.records == 0 {
		s.first = r.at
	}
	s.records++
	s.end += r.size()
}

// syncFolder makes the names in a folder durable.
func syncFolder(folder string) error {
	file, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
