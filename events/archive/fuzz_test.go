package archive

import (
	"bytes"
	"errors"
	"testing"

	"linkledger/events/eventstore"
	"linkledger/events/proof/leaf"
)

// fileOf returns a complete file with one event.
func fileOf(f *testing.F, format Format) []byte {
	f.Helper()
	r := eventstore.Recorded{
		Stream: "hash-a", Type: "hash.claimed.v1", Position: eventstore.Position{Commit: 7, Prepare: 7},
		Data: []byte(`{"hash":"a"}`), Metadata: []byte("\xff"),
	}
	file, err := appendMark(nil, format, headerLine{&Header{Format: format}})
	if err != nil {
		f.Fatal(err)
	}
	leaf := leaf.Append(nil, r)
	if format == CSV {
		file = append(file, columns+"\n"...)
		if file, err = appendCSV(file, r); err != nil {
			f.Fatal(err)
		}
	} else {
		file = append(file, leaf...)
	}
	file = append(bytes.TrimSuffix(file, []byte("\n")), '\n')
	var c content
	if err := c.read(bytes.NewReader(file)); err != nil {
		f.Fatal(err)
	}
	sum := c.computedManifest()
	if file, err = appendMark(file, format, manifestLine{&sum}); err != nil {
		f.Fatal(err)
	}
	return file
}

// FuzzCheck checks that a file that is not an export is rejected with an error of this package, and
// that the manifest of an accepted file matches its content.
func FuzzCheck(f *testing.F) {
	for _, format := range []Format{NDJSON, CSV} {
		file := fileOf(f, format)
		if _, _, err := Check(bytes.NewReader(file)); err != nil {
			f.Fatal(err)
		}
		f.Add(file)
		f.Add(file[:len(file)/2])
		f.Add(file[:bytes.IndexByte(file, '\n')+1])
	}
	f.Add([]byte(`{"export":null}` + "\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		header, manifest, err := Check(bytes.NewReader(file))
		switch {
		case errors.Is(err, ErrDamaged), errors.Is(err, ErrIncomplete):
		case err != nil:
			t.Errorf("the file is refused with %v", err)
		case header.Format != NDJSON && header.Format != CSV, manifest.Count > int64(bytes.Count(file, []byte("\n"))):
			t.Errorf("%+v and %+v were read", header, manifest)
		}
	})
}
