package eventlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// origin is where and when an event was recorded first, before it was copied into another event
// store, which gives it a position and a time of its own. It stands in the event's metadata, as the
// last field.
type origin struct {
	Time    time.Time `json:"time"`
	Commit  uint64    `json:"commit"`
	Prepare uint64    `json:"prepare"`
}

// originKey begins the field of the metadata.
const originKey = `"$copied":`

// withOrigin adds the field to metadata, whose bytes it leaves as they are.
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

// RestoreOrigin makes of a copied event what it was, but for its position.
func (r *Recorded) RestoreOrigin() {
	if metadata, from, copied := cutOrigin(r.Metadata); copied {
		r.Metadata, r.Time, r.Origin = metadata, from.Time, Position{
			Commit: from.Commit, Prepare: from.Prepare,
		}
	}
}

// cutOrigin returns metadata as it was before withOrigin; false: it is as it was written.
func cutOrigin(metadata []byte) ([]byte, origin, bool) {
	if !bytes.HasSuffix(metadata, []byte("}}")) { // as most
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

// FirstPosition is where the event was recorded first.
func (r Recorded) FirstPosition() Position {
	if r.Origin != (Position{}) {
		return r.Origin
	}
	return r.Position
}

// MetadataOfCopy is the metadata that a copy of the event has, which tells where it was recorded
// first. It is ErrForeign where Linkledger has not written the event.
func (r Recorded) MetadataOfCopy() ([]byte, error) {
	at := r.FirstPosition()
	return withOrigin(
		r.Metadata, origin{Time: r.Time.UTC(), Commit: at.Commit, Prepare: at.Prepare},
	)
}
