package archive

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"linkledger/events/proof"
)

// Format is how events are written.
type Format string

// The formats.
const (
	NDJSON Format = "ndjson"
	CSV    Format = "csv"
)

// maxLine bounds what is read as one line; the largest event in base64 is well below.
const maxLine = 64 << 20

// Header says what a file holds.
type Header struct {
	Format Format `json:"format"`
	// id: the events of its streams, without clicks; empty: all events
	Account string    `json:"account,omitempty"`
	From    time.Time `json:"from,omitzero"` // events recorded at this time or later
	To      time.Time `json:"to,omitzero"`   // events recorded before this time
	// end of the log when the export began: events up to here
	Head Position `json:"head"`
}

// Manifest sums a file up.
type Manifest struct {
	Count int64     `json:"count"`
	First Position  `json:"first"` // of the first event; zero without events
	Last  Position  `json:"last"`
	Root  tlog.Hash `json:"root"` // base64
}

// Errors of files.
var (
	// ErrDamaged means that a file is not as it was written; the error says where and how.
	ErrDamaged = errors.New("the file is damaged")
	// ErrIncomplete means that a file has no manifest: its export was interrupted and can be
	// resumed.
	ErrIncomplete = errors.New("the file has no manifest, its export was interrupted: resume it")
	// ErrComplete means that there is nothing to resume.
	ErrComplete = errors.New("the file is complete")

	errSpelling = errors.New("it is not spelled as an export writes it")
)

// headerLine and manifestLine are the first and the last line in ndjson.
type headerLine struct {
	Export *Header `json:"export"`
}

type manifestLine struct {
	Manifest *Manifest `json:"manifest"`
}

// appendMark writes a header or a manifest as a line.
func appendMark(line []byte, format Format, mark any) ([]byte, error) {
	body, err := json.Marshal(mark)
	if err != nil {
		return nil, err
	}
	if format == CSV {
		line = append(line, "# "...)
	}
	return append(append(line, body...), '\n'), nil
}

// content is what was read of a file so far.
type content struct {
	header   Header
	manifest *Manifest
	sum      Manifest // of the events, but for the root
	tree     proof.Tree
	columns  bool   // were read, in csv
	bytes    int64  // of the whole lines
	begun    int    // bytes of a line that was not ended
	line     []byte // room for one
}

// read reads lines until the file ends. A line that was begun and not ended is left out.
func (c *content) read(file io.Reader) error {
	lines := bufio.NewReaderSize(file, 1<<20)
	for number := 1; ; number++ {
		line, err := readLine(lines)
		if errors.Is(err, io.EOF) {
			c.begun = len(line)
			return nil
		}
		if err == nil {
			err = c.take(number, line)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		c.bytes += int64(len(line)) + 1
	}
}

// readLine returns the next whole line without its end.
func readLine(lines *bufio.Reader) ([]byte, error) {
	line, err := lines.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return bytes.TrimSuffix(line, []byte("\n")), err
	}
	long := bytes.Clone(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(long) > maxLine {
			return nil, fmt.Errorf("%w: a line is longer than any event", ErrDamaged)
		}
		line, err = lines.ReadSlice('\n')
		long = append(long, line...)
	}
	return bytes.TrimSuffix(long, []byte("\n")), err
}

func (c *content) take(number int, line []byte) error {
	mark, marked := bytes.CutPrefix(line, []byte("# "))
	switch {
	case number == 1:
		return c.readHeader(line, mark, marked)
	case c.manifest != nil:
		return fmt.Errorf("%w: it goes on behind the manifest", ErrDamaged)
	case c.header.Format == CSV && number == 2:
		if string(line) != columns {
			return fmt.Errorf("%w: the columns are not %s", ErrDamaged, columns)
		}
		c.columns = true
		return nil
	case marked == (c.header.Format == CSV) && bytes.HasPrefix(mark, []byte(`{"manifest":`)):
		var read manifestLine
		if err := json.Unmarshal(mark, &read); err != nil || read.Manifest == nil {
			return fmt.Errorf("%w: the manifest cannot be read", ErrDamaged)
		}
		if err := c.compareMark(line, read); err != nil {
			return err
		}
		c.manifest = read.Manifest
		return nil
	}
	return c.event(line)
}

func (c *content) readHeader(line, mark []byte, marked bool) error {
	var read headerLine
	if err := json.Unmarshal(mark, &read); err != nil || read.Export == nil {
		return fmt.Errorf("%w: it does not begin like an export", ErrDamaged)
	}
	c.header = *read.Export
	if marked != (c.header.Format == CSV) || c.header.Format != CSV && c.header.Format != NDJSON {
		return fmt.Errorf(
			"%w: the format %q is not that of the header", ErrDamaged, c.header.Format,
		)
	}
	return c.compareMark(line, read)
}

// compareMark refuses a header or a manifest that is spelled otherwise than an export writes it:
// other readers might read something else.
func (c *content) compareMark(line []byte, mark any) (err error) {
	c.line, err = appendMark(c.line[:0], c.header.Format, mark)
	if err == nil && !bytes.Equal(bytes.TrimSuffix(c.line, []byte("\n")), line) {
		err = fmt.Errorf("%w: %w", ErrDamaged, errSpelling)
	}
	return err
}

func (c *content) event(line []byte) error {
	leaf := line
	if c.header.Format == CSV {
		reader := csv.NewReader(bytes.NewReader(line))
		reader.FieldsPerRecord = columnCount
		fields, err := reader.Read()
		if err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		leaf = leafOfCSV(fields)
	}
	r, err := proof.ParseLine(leaf)
	if err != nil {
		return fmt.Errorf("%w: this is no event: %w", ErrDamaged, err)
	}
	if c.header.Format == CSV {
		c.line, err = appendCSV(c.line[:0], r)
		if err == nil && !bytes.Equal(c.line, line) {
			err = errSpelling
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	return c.add(Position(r.Position), leaf)
}

// add takes in the next event.
func (c *content) add(at Position, leaf []byte) error {
	if c.sum.Count > 0 && !at.after(c.sum.Last) {
		return fmt.Errorf(
			"%w: position %d does not follow %d", ErrDamaged, at.Commit, c.sum.Last.Commit,
		)
	}
	if c.sum.Count == 0 {
		c.sum.First = at
	}
	c.sum.Count++
	c.sum.Last = at
	c.tree.Add(tlog.RecordHash(leaf))
	return nil
}

// summary is the manifest that the events ask for.
func (c *content) summary() Manifest {
	sum := c.sum
	sum.Root = c.tree.Root()
	return sum
}

// Check reads a whole file and compares it with its manifest. Errors: ErrIncomplete, ErrDamaged,
// and those of the reader.
func Check(file io.Reader) (Header, Manifest, error) {
	var c content
	if err := c.read(file); err != nil {
		return Header{}, Manifest{}, err
	}
	sum := c.summary()
	switch {
	case c.manifest == nil:
		return c.header, sum, ErrIncomplete
	case c.begun > 0:
		return c.header, sum, fmt.Errorf("%w: it goes on behind the manifest", ErrDamaged)
	case *c.manifest == sum:
		return c.header, sum, nil
	case c.manifest.Count != sum.Count:
		return c.header, sum, fmt.Errorf(
			"%w: it has %d events, its manifest says %d", ErrDamaged, sum.Count, c.manifest.Count,
		)
	case c.manifest.Root != sum.Root:
		return c.header, sum, fmt.Errorf(
			"%w: an event was changed: the root hash is %s, its manifest says %s", ErrDamaged,
			sum.Root, c.manifest.Root,
		)
	}
	return c.header, sum, fmt.Errorf(
		"%w: its first or last position is not that of the manifest", ErrDamaged,
	)
}
