package eventlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// origin is the position and time of an event in the event store that recorded it first. A copy of
// the event has a new position and time, so the copy keeps the origin as the last field of its
// metadata.
type origin struct {
	Time    time.Time `json:"time"`
	Commit  uint64    `json:"commit"`
	Prepare uint64    `json:"prepare"`
}

// originKey begins the field of the metadata.
const originKey = `"$copied":`

// withOrigin appends the origin to metadata as a field. It leaves the other bytes unchanged, so
// that cutOrigin can restore them exactly.
func withOrigin(metadata []byte, from origin) ([]byte, error) {
	object := bytes.TrimSpace(metadata)
	if len(object) != len(metadata) || !json.Valid(metadata) || object[0] != '{' {
		return nil, fmt.Errorf("%w: its metadata is not a JSON object", ErrForeign)
	}
	field, err := json.Marshal(from)
	if err != nil {
		return nil, err
	}
	added := make([]byte, 0, len(metadata)+len(originKey)+len(field)+1)
	added = append(added, metadata[:len(metadata)-1]...)
	if len(bytes.TrimSpace(metadata[1:len(metadata)-1])) > 0 {
		added = append(added, ',')
	}
	added = append(append(added, originKey...), field...)
	return append(added, '}'), nil
}

// RestoreOrigin sets the metadata and time of a copied event to their original values, and Origin
// to the first position of the event.
func (r *Recorded) RestoreOrigin() {
	if metadata, from, copied := cutOrigin(r.Metadata); copied {
		r.Metadata, r.Time, r.Origin = metadata, from.Time, Position{
			Commit: from.Commit, Prepare: from.Prepare,
		}
	}
}

// cutOrigin returns metadata as it was before withOrigin. It returns false if metadata has no
// origin.
func cutOrigin(metadata []byte) ([]byte, origin, bool) {
	if !bytes.HasSuffix(metadata, []byte("}}")) { // true of most events, and cheap to test
		return metadata, origin{}, false
	}
	at := bytes.LastIndex(metadata, []byte(originKey))
	if at < 1 {
		return metadata, origin{}, false
	}
	var from origin
	if err := json.Unmarshal(metadata[at+len(originKey):len(metadata)-1], &from); err != nil {
		return metadata, origin{}, false
	}
	before := bytes.TrimSuffix(metadata[:at], []byte(","))
	return append(bytes.Clone(before), '}'), from, true
}

// FirstPosition returns the position in the log that recorded the event first.
func (r Recorded) FirstPosition() Position {
	if r.Origin != (Position{}) {
		return r.Origin
	}
	return r.Position
}

// MetadataOfCopy returns the metadata for a copy of the event, which includes its origin. It
// returns ErrForeign if Linkledger did not write the event.
func (r Recorded) MetadataOfCopy() ([]byte, error) {
	at := r.FirstPosition()
	return withOrigin(
		r.Metadata, origin{Time: r.Time.UTC(), Commit: at.Commit, Prepare: at.Prepare},
	)
}
