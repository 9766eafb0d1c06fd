package record

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"time"
)

// Types of the events of the system, and keys of metadata.
const (
	TypeMetadata  = "$metadata"
	TypeTombstone = "$streamDeleted"
	TypeLink      = "$>"

	keyTruncateBefore = "$tb"
	keyMaxCount       = "$maxCount"
	keyMaxAge         = "$maxAge"
)

// SoftDeleteMetadata replaces all metadata of a stream on a soft delete.
var SoftDeleteMetadata = []byte(`{"$tb":9223372036854775807}`)

// Limits is the part of a stream's metadata that bounds what can be read.
// Zero means unlimited.
type Limits struct {
	truncateBefore int64 // first readable number
	maxCount       int64 // events
	maxAge         int64 // seconds
}

// MetadataStreamLimits holds for every metadata stream, whatever is written
// about it: clients read the current metadata as the first event from start.
var MetadataStreamLimits = Limits{maxCount: 1}

// ParseLimits reads the limits from a metadata event. Like the real server it
// treats anything malformed as no metadata at all.
func ParseLimits(r *Event) Limits {
	if !r.JSON {
		return Limits{}
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(r.Data, &fields) != nil {
		return Limits{}
	}
	var l Limits
	for _, f := range []struct {
		key   string
		least int64
		into  *int64
	}{
		{keyTruncateBefore, 0, &l.truncateBefore},
		{keyMaxCount, 1, &l.maxCount},
		{keyMaxAge, 1, &l.maxAge},
	} {
		raw, ok := fields[f.key]
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil || n < f.least {
			return Limits{}
		}
		*f.into = n
	}
	return l
}

// WithTruncateBefore returns the metadata in raw with $tb set to number and all
// else kept, or nil when raw is no JSON object.
func WithTruncateBefore(raw []byte, number int64) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields == nil {
		return nil
	}
	fields[keyTruncateBefore] = strconv.AppendInt(nil, number, 10)
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(fields) != nil {
		return nil
	}
	return bytes.TrimRight(out.Bytes(), "\n")
}

// FirstReadable is the lowest number that a reader of the stream may see.
func (s *StreamState) FirstReadable() int64 {
	first := s.Limits.truncateBefore
	if s.Limits.maxCount > 0 {
		first = max(first, s.Last-s.Limits.maxCount+1)
	}
	return max(first, 0)
}

// OldestReadable is the lowest creation time, in ticks, that a reader may see.
func (s *StreamState) OldestReadable(now time.Time) int64 {
	const perSecond = int64(time.Second / 100)
	if s.Limits.maxAge == 0 || s.Limits.maxAge > Ticks(now)/perSecond {
		return math.MinInt64
	}
	return Ticks(now) - s.Limits.maxAge*perSecond
}
