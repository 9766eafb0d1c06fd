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
	"linkledger/events/proof/leaf"
)

// Format is the encoding of events in a file.
type Format string

// The formats.
const (
	NDJSON Format = "ndjson"
	CSV    Format = "csv"
)

// maxLine is the maximum length of a line. The line of the largest event, in base64, is far
// shorter.
const maxLine = 64 << 20

// Header describes what a file contains.
type Header struct {
	Format Format `json:"format"`
	// Account is the id of an account. The file then has only the events of the streams of that
	// account, without clicks. If Account is empty, the file has all events.
	Account string    `json:"account,omitempty"`
	From    time.Time `json:"from,omitzero"` // selects events recorded at this time or later
	To      time.Time `json:"to,omitzero"`   // selects events recorded before this time
	// Head is the end of the log when the export began. Later events are not part of the file.
	Head Position `json:"head"`
}

// Manifest summarises the events of a file.
type Manifest struct {
	Count int64     `json:"count"`
	First Position  `json:"first"` // of the first event, or zero if there is none
	Last  Position  `json:"last"`  // of the last event, or zero if there is none
	Root  tlog.Hash `json:"root"`  // root hash of the events, in base64
}

// Errors of files.
var (
	// ErrDamaged means that a file is not as it was written. The error names the place and the
	// difference.
	ErrDamaged = errors.New("the file is damaged")
	// ErrIncomplete means that a file has no manifest: its export was interrupted and can be
	// resumed.
	ErrIncomplete = errors.New("the file has no manifest, its export was interrupted: resume it")
	// ErrComplete means that there is nothing to resume.
	ErrComplete = errors.New("the file is complete")

	errNotCanonical = errors.New("it is not written as an export writes it")
)

// headerLine is the first line of a file in ndjson.
type headerLine struct {
	Export *Header `json:"export"`
}

// manifestLine is the last line of a file in ndjson.
type manifestLine struct {
	Manifest *Manifest `json:"manifest"`
}

// appendMark appends a header or a manifest as a line.
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

// content is the part of a file that was read or written so far.
type content struct {
	header   Header
	manifest *Manifest
	summary  Manifest // of the events so far, without the root
	tree     proof.Tree
	columns  bool   // whether the column names of csv were read
	bytes    int64  // length of the whole lines
	partial  int    // length of a last line without a line end
	line     []byte // buffer of a line

	each func(at Position, leaf tlog.Hash) // is called with each event; may be nil
}

// read reads lines until the end of the file. It ignores a last line without a line end.
func (c *content) read(file io.Reader) error {
	lines := bufio.NewReaderSize(file, 1<<20)
	for number := 1; ; number++ {
		line, err := readLine(lines)
		if errors.Is(err, io.EOF) {
			c.partial = len(line)
			return nil
		}
		if err == nil {
			err = c.addLine(number, line)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		c.bytes += int64(len(line)) + 1
	}
}

// readLine returns the next whole line without its line end.
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

func (c *content) addLine(number int, line []byte) error {
	mark, marked := bytes.CutPrefix(line, []byte("# "))
	switch {
	case number == 1:
		return c.readHeader(line, mark, marked)
	case c.manifest != nil:
		return fmt.Errorf("%w: it continues after the manifest", ErrDamaged)
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
		if err := c.checkMark(line, read); err != nil {
			return err
		}
		c.manifest = read.Manifest
		return nil
	}
	return c.addEvent(line)
}

func (c *content) readHeader(line, mark []byte, marked bool) error {
	var read headerLine
	if err := json.Unmarshal(mark, &read); err != nil || read.Export == nil {
		return fmt.Errorf("%w: it does not begin with the header of an export", ErrDamaged)
	}
	c.header = *read.Export
	if marked != (c.header.Format == CSV) || c.header.Format != CSV && c.header.Format != NDJSON {
		return fmt.Errorf(
			"%w: the format %q differs from the header", ErrDamaged, c.header.Format,
		)
	}
	return c.checkMark(line, read)
}

// checkMark returns ErrDamaged if a header or a manifest is not byte for byte as an export writes
// it, because other readers might read something else from it.
func (c *content) checkMark(line []byte, mark any) (err error) {
	c.line, err = appendMark(c.line[:0], c.header.Format, mark)
	if err == nil && !bytes.Equal(bytes.TrimSuffix(c.line, []byte("\n")), line) {
		err = fmt.Errorf("%w: %w", ErrDamaged, errNotCanonical)
	}
	return err
}

func (c *content) addEvent(line []byte) error {
	hashed := line
	if c.header.Format == CSV {
		reader := csv.NewReader(bytes.NewReader(line))
		reader.FieldsPerRecord = columnCount
		fields, err := reader.Read()
		if err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		hashed = leafOfCSV(fields)
	}
	r, err := leaf.Parse(hashed)
	if err != nil {
		return fmt.Errorf("%w: this is not an event: %w", ErrDamaged, err)
	}
	if c.header.Format == CSV {
		c.line, err = appendCSV(c.line[:0], r)
		if err == nil && !bytes.Equal(c.line, line) {
			err = errNotCanonical
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	return c.add(Position(r.Position), hashed)
}

// add counts and hashes the next event.
func (c *content) add(at Position, line []byte) error {
	if c.summary.Count > 0 && !at.after(c.summary.Last) {
		return fmt.Errorf(
			"%w: position %d does not follow %d", ErrDamaged, at.Commit, c.summary.Last.Commit,
		)
	}
	if c.summary.Count == 0 {
		c.summary.First = at
	}
	c.summary.Count++
	c.summary.Last = at
	hash := tlog.RecordHash(line)
	c.tree.Add(hash)
	if c.each != nil {
		c.each(at, hash)
	}
	return nil
}

// computedManifest returns the manifest that matches the events.
func (c *content) computedManifest() Manifest {
	sum := c.summary
	sum.Root = c.tree.Root()
	return sum
}

// Check reads a whole file and compares it with its manifest. It returns ErrIncomplete, ErrDamaged,
// or an error of the reader.
func Check(file io.Reader) (Header, Manifest, error) { return CheckEach(file, nil) }

// CheckEach does what Check does, and calls each with the position of every event and the hash of
// its leaf in the tree over the log.
func CheckEach(
	file io.Reader, each func(at Position, leaf tlog.Hash),
) (Header, Manifest, error) {
	c := content{each: each}
	if err := c.read(file); err != nil {
		return Header{}, Manifest{}, err
	}
	sum := c.computedManifest()
	switch {
	case c.manifest == nil:
		return c.header, sum, ErrIncomplete
	case c.partial > 0:
		return c.header, sum, fmt.Errorf("%w: it continues after the manifest", ErrDamaged)
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
		"%w: its first or last position differs from the manifest", ErrDamaged,
	)
}
