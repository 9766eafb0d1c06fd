// Package leaf writes an event of the log as a line of JSON, and reads it back. The line is a leaf
// of the tree over the log, so a signed head depends on each byte of the line. The line of an event
// therefore MUST NOT change.
package leaf

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"linkledger/events/eventstore"
)

// Append appends an event as a line of ndjson, without the line end.
func Append(line []byte, r eventstore.Recorded) []byte {
	line = append(line, `{"position":{"commit":`...)
	line = strconv.AppendUint(line, r.Position.Commit, 10)
	line = append(line, `,"prepare":`...)
	line = strconv.AppendUint(line, r.Position.Prepare, 10)
	line = append(line, `},"stream":`...)
	line = AppendString(line, r.Stream)
	line = append(line, `,"revision":`...)
	line = strconv.AppendInt(line, int64(r.Revision), 10)
	line = append(line, `,"id":"`...)
	line = append(line, r.ID.String()...)
	line = append(line, `","type":`...)
	line = AppendString(line, r.Type)
	line = append(line, `,"time":"`...)
	line = r.Time.UTC().AppendFormat(line, time.RFC3339Nano)
	line = append(line, '"')
	line = appendStored(line, "metadata", r.Metadata)
	line = appendStored(line, "data", r.Data)
	return append(line, '}')
}

// AppendString appends a JSON string.
func AppendString(line []byte, text string) []byte {
	odd := func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }
	if strings.ContainsFunc(text, odd) {
		quoted, _ := json.Marshal(text) // a string can always be encoded
		return append(line, quoted...)
	}
	line = append(line, '"')
	line = append(line, text...)
	return append(line, '"')
}

// appendStored appends stored bytes as a field, or nothing if there are none.
func appendStored(line []byte, name string, stored []byte) []byte {
	if len(stored) == 0 {
		return line
	}
	line = append(line, `,"`...)
	line = append(line, name...)
	if Verbatim(stored) {
		line = append(line, `":`...)
		return append(line, stored...)
	}
	line = append(line, `_base64":"`...)
	line = base64.StdEncoding.AppendEncode(line, stored)
	return append(line, '"')
}

// Verbatim reports whether stored bytes can be put into a line unchanged and be read back exactly.
func Verbatim(stored []byte) bool {
	if isPlain(stored) {
		return true
	}
	trimmed := len(bytes.TrimSpace(stored)) == len(stored)
	oneLine := !bytes.ContainsAny(stored, "\r\n")
	return oneLine && trimmed && json.Valid(stored) && !isTooDeep(stored)
}

// maxNesting is how deep the objects and arrays of stored bytes may be nested. encoding/json reads
// 10,000 levels. The line of the event is one level, and the line of a proof around it is another.
const maxNesting = 10_000 - 2

// isTooDeep reports whether the objects and arrays of valid JSON are nested deeper than maxNesting.
func isTooDeep(stored []byte) bool {
	if len(stored) <= 2*maxNesting { // each level has an opening and a closing byte
		return false
	}
	depth, inText := 0, false
	for i := 0; i < len(stored) && depth <= maxNesting; i++ {
		switch c := stored[i]; {
		case c == '"':
			inText = !inText
		case inText && c == '\\':
			i++ // the next byte is escaped
		case inText:
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		}
	}
	return depth > maxNesting
}

// isPlain reports whether stored bytes are a plain JSON object. A plain object has only strings
// without escapes, non-negative integers, booleans, and nested plain objects and arrays, without
// spaces between them. Most events are plain, and this test takes a fraction of the time of
// json.Valid.
func isPlain(stored []byte) bool {
	if len(stored) == 0 || stored[0] != '{' || !isUnescaped(stored) {
		return false
	}
	rest, ok := skipValue(stored, maxPlainNesting)
	return ok && len(rest) == 0
}

// maxPlainNesting is how deep plain objects and arrays may be nested.
const maxPlainNesting = 4

// isUnescaped reports whether stored bytes have neither a control character nor a backslash.
func isUnescaped(stored []byte) bool {
	const ones, size = 0x0101010101010101, 8
	rest := stored
	for ; len(rest) >= size; rest = rest[size:] {
		word := binary.LittleEndian.Uint64(rest)
		if (word-ones*' ')&^word&(ones*0x80) != 0 { // a byte of the word is less than a space
			return false
		}
	}
	for _, c := range rest {
		if c < ' ' {
			return false
		}
	}
	return bytes.IndexByte(stored, '\\') < 0
}

// skipValue returns what follows a value. It returns false if the value is not plain. The caller
// has checked that strings have no escapes.
func skipValue(line []byte, depth int) (rest []byte, ok bool) {
	if len(line) == 0 {
		return nil, false
	}
	switch line[0] {
	case '"':
		return skipString(line)
	case '{':
		return skipMembers(line[1:], true, '}', depth-1)
	case '[':
		return skipMembers(line[1:], false, ']', depth-1)
	case 't':
		return bytes.CutPrefix(line, []byte("true"))
	case 'f':
		return bytes.CutPrefix(line, []byte("false"))
	}
	digits := 0
	for digits < len(line) && '0' <= line[digits] && line[digits] <= '9' {
		digits++
	}
	return line[digits:], digits == 1 || digits > 1 && line[0] != '0'
}

// skipMembers returns what follows the members of an array, or of an object if named is true. It
// returns false if there is no member, or one is not plain.
func skipMembers(line []byte, named bool, end byte, depth int) (rest []byte, ok bool) {
	for depth >= 0 {
		if named {
			if line, ok = skipString(line); !ok || len(line) == 0 || line[0] != ':' {
				return nil, false
			}
			line = line[1:]
		}
		if line, ok = skipValue(line, depth); !ok || len(line) == 0 ||
			line[0] != ',' && line[0] != end {
			return nil, false
		}
		if line[0] == end {
			return line[1:], true
		}
		line = line[1:]
	}
	return nil, false
}

func skipString(line []byte) (rest []byte, ok bool) {
	if len(line) == 0 || line[0] != '"' {
		return nil, false
	}
	length := bytes.IndexByte(line[1:], '"')
	if length < 0 {
		return nil, false
	}
	return line[1+length+1:], true
}

// Hasher hashes events. It reuses the buffer of a line for the next event.
type Hasher struct{ line []byte }

// Hash returns the hash of the event's leaf: the tlog.RecordHash of its line. Hash does not call
// tlog.RecordHash, because that would allocate memory for each line.
func (h *Hasher) Hash(r eventstore.Recorded) tlog.Hash {
	h.line = Append(append(h.line[:0], 0), r) // RFC 6962 hashes a zero byte before a leaf
	return sha256.Sum256(h.line)
}
