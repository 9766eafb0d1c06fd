package robots

import (
	"fmt"
	"io"
	"os"
)

// MaxFile is the largest size of a file of words, in bytes.
const MaxFile = 1 << 20

// ReadFile applies the changes in a file to the built-in table, as Parse does.
func ReadFile(path string) (*Table, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, MaxFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > MaxFile {
		return nil, fmt.Errorf("%s has more than %d bytes", path, MaxFile)
	}
	table, err := Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return table, nil
}
