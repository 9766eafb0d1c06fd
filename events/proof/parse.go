package proof

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"linkledger/events/proof/leaf"
)

// unmarshalCanonical decodes a line into v. It returns leaf.ErrNotCanonical if json.Marshal would
// not write exactly this line for the result.
func unmarshalCanonical(line []byte, v any) error {
	if err := json.Unmarshal(line, v); err != nil {
		return err
	}
	written, err := json.Marshal(v)
	if err == nil && !bytes.Equal(written, line) {
		err = leaf.ErrNotCanonical
	}
	return err
}

// readLines calls visit with each line of a file, without its line end, and returns how many lines
// it read. It returns ErrUnproven if the last line has no line end.
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
