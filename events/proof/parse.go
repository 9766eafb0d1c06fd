package proof

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/mod/sumdb/note"

	"linkledger/events/eventstore"
)

// errNotCanonical means that a line is valid JSON but not byte for byte as Linkledger writes it:
// with other or repeated keys, in another order or case, with spaces, or with other forms of
// numbers or strings. Other readers might read something else from such a line.
var errNotCanonical = errors.New("it is not written as Linkledger writes it")

// ParseLine parses a line of AppendLine. It accepts exactly what AppendLine writes. The stored
// bytes of the event share the memory of line.
func ParseLine(line []byte) (eventstore.Recorded, error) {
	var read struct {
		Position       eventstore.Position `json:"position"`
		Stream         string              `json:"stream"`
		Revision       eventstore.Revision `json:"revision"`
		ID             uuid.UUID           `json:"id"`
		Type           string              `json:"type"`
		Time           time.Time           `json:"time"`
		Metadata       json.RawMessage     `json:"metadata"`
		MetadataBase64 string              `json:"metadata_base64"`
		Data           json.RawMessage     `json:"data"`
		DataBase64     string              `json:"data_base64"`
	}
	if err := json.Unmarshal(line, &read); err != nil {
		return eventstore.Recorded{}, err
	}
	r := eventstore.Recorded{
		Position: read.Position, Stream: read.Stream, Revision: read.Revision, ID: read.ID,
		Type: read.Type, Time: read.Time,
	}
	var err error
	if r.Metadata, err = storedBytes(read.Metadata, read.MetadataBase64); err != nil {
		return r, err
	}
	if r.Data, err = storedBytes(read.Data, read.DataBase64); err != nil {
		return r, err
	}
	if !bytes.Equal(AppendLine(make([]byte, 0, len(line)), r), line) {
		return r, errNotCanonical
	}
	return r, nil
}

// storedBytes returns the bytes that appendStored wrote.
func storedBytes(verbatim json.RawMessage, encoded string) ([]byte, error) {
	if encoded == "" {
		return verbatim, nil
	}
	return base64.StdEncoding.DecodeString(encoded)
}

// unmarshalCanonical decodes a line into v. The line MUST be what json.Marshal writes of the
// result.
func unmarshalCanonical(line []byte, v any) error {
	if err := json.Unmarshal(line, v); err != nil {
		return err
	}
	written, err := json.Marshal(v)
	if err == nil && !bytes.Equal(written, line) {
		err = errNotCanonical
	}
	return err
}

// readLines calls visit with each line of a file, without its line end. Each line MUST have a line
// end.
func readLines(file io.Reader, visit func(number int, line []byte) error) (read int, err error) {
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, maxLine)
	scanner.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		if end := bytes.IndexByte(data, '\n'); end >= 0 {
			return end + 1, data[:end], nil
		}
		if atEOF && len(data) > 0 {
			return 0, nil, fmt.Errorf("%w: it has no line end", ErrUnproven)
		}
		return 0, nil, nil
	})
	for number := 1; scanner.Scan(); number++ {
		read = number
		if err := visit(number, scanner.Bytes()); err != nil {
			return read, fmt.Errorf("line %d: %w", number, err)
		}
	}
	if err := scanner.Err(); err != nil {
		return read, fmt.Errorf("line %d: %w", read+1, err)
	}
	return read, nil
}

// canonical returns an opened note with its verified signatures, in canonical form.
func canonical(opened *note.Note) (string, error) {
	var text strings.Builder
	text.WriteString(opened.Text + "\n")
	for _, s := range opened.Sigs {
		signature, err := base64.StdEncoding.DecodeString(s.Base64)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&text, "— %s %s\n", s.Name, base64.StdEncoding.EncodeToString(signature))
	}
	return text.String(), nil
}
