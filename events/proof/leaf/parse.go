package leaf

// The parser accepts only the exact form in which leaves are written.

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"

	"linkledger/events/eventstore"
)

// ErrNotCanonical means that a line is valid JSON but not byte for byte as Linkledger writes it:
// with other or repeated keys, in another order or case, with spaces, or with other forms of
// numbers or strings. Other readers might read something else from such a line.
var ErrNotCanonical = errors.New("it is not written as Linkledger writes it")

// Parse parses a line of Append. It accepts exactly what Append writes. The stored
// bytes of the event share the memory of line.
func Parse(line []byte) (eventstore.Recorded, error) {
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
	if !bytes.Equal(Append(make([]byte, 0, len(line)), r), line) {
		return r, ErrNotCanonical
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
