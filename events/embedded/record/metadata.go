package record

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"time"
)

// Types of system events, and keys of metadata.
const (
	TypeMetadata  = "$metadata"
	TypeTombstone = "$streamDeleted"
	TypeLink      = "$>"

	keyTruncateBefore = "$tb"
	keyMaxCount       = "$maxCount"
	keyMaxAge         = "$maxAge"
)

// SoftDeleteMetadata replaces the metadata of a stream when it is soft-deleted.
var SoftDeleteMetadata = []byte(`{"$tb":9223372036854775807}`)

// Limits is the part of a stream's metadata that bounds which events can be read. Zero means
// unlimited.
type Limits struct {
	truncateBefore int64 // number of the first readable event
	maxCount       int64 // events
	maxAge         int64 // seconds
}

// MetadataStreamLimits are the limits of every metadata stream, and metadata cannot change them.
// Only the current metadata is readable, because clients read it as the first event of the stream.
var MetadataStreamLimits = Limits{maxCount: 1}

// ParseLimits returns the limits in a metadata event. Like EventStoreDB, it returns no limits if
// any of them is malformed.
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

// WithTruncateBefore returns the metadata in raw with $tb set to number and all other keys
// unchanged, or nil if raw is no JSON object.
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

// FirstReadable returns the lowest event number that a reader of the stream may see.
func (s *StreamState) FirstReadable() int64 {
	first := s.Limits.truncateBefore
	if s.Limits.maxCount > 0 {
		first = max(first, s.Last-s.Limits.maxCount+1)
	}
	return max(first, 0)
}

// OldestReadable returns the earliest creation time, in ticks, that a reader may see. It returns
// math.MinInt64 if the stream does not limit the age of its events.
func (s *StreamState) OldestReadable(now time.Time) int64 {
	const perSecond = int64(time.Second / 100)
	if s.Limits.maxAge == 0 || s.Limits.maxAge > Ticks(now)/perSecond {
		return math.MinInt64
	}
	return Ticks(now) - s.Limits.maxAge*perSecond
}
