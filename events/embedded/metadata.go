package embedded

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"time"
)

const (
	typeMetadata  = "$metadata"
	typeTombstone = "$streamDeleted"
	typeLink      = "$>"

	keyTruncateBefore = "$tb"
	keyMaxCount       = "$maxCount"
	keyMaxAge         = "$maxAge"
)

// softDeleteMetadata replaces all metadata of a stream on a soft delete.
var softDeleteMetadata = []byte(`{"$tb":9223372036854775807}`)

// limits is the part of a stream's metadata that bounds what can be read.
// Zero means unlimited.
type limits struct {
	truncateBefore int64 // first readable number
	maxCount       int64 // events
	maxAge         int64 // seconds
}

// metadataStreamLimits holds for every metadata stream, whatever is written
// about it: clients read the current metadata as the first event from start.
var metadataStreamLimits = limits{maxCount: 1}

// parseLimits reads the limits from a metadata event. Like the real server it
// treats anything malformed as no metadata at all.
func parseLimits(r *record) limits {
	if !r.json {
		return limits{}
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(r.data, &fields) != nil {
		return limits{}
	}
	var l limits
	for _, f := range []struct {
		key   string
		least int64
		into  *int64
	}{{keyTruncateBefore, 0, &l.truncateBefore}, {keyMaxCount, 1, &l.maxCount}, {keyMaxAge, 1, &l.maxAge}} {
		raw, ok := fields[f.key]
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil || n < f.least {
			return limits{}
		}
		*f.into = n
	}
	return l
}

// withTruncateBefore returns the metadata in raw with $tb set to number and all
// else kept, or nil when raw is no JSON object.
func withTruncateBefore(raw []byte, number int64) []byte {
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

// firstReadable is the lowest number that a reader of the stream may see.
func (s *streamState) firstReadable() int64 {
	first := s.limits.truncateBefore
	if s.limits.maxCount > 0 {
		first = max(first, s.last-s.limits.maxCount+1)
	}
	return max(first, 0)
}

// oldestReadable is the lowest creation time, in ticks, that a reader may see.
func (s *streamState) oldestReadable(now time.Time) int64 {
	const perSecond = int64(time.Second / 100)
	if s.limits.maxAge == 0 || s.limits.maxAge > ticks(now)/perSecond {
		return math.MinInt64
	}
	return ticks(now) - s.limits.maxAge*perSecond
}
