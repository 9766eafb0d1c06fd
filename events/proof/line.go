package proof

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

// AppendLine writes an event as a line of ndjson, without the line end. It is the leaf of the tree.
func AppendLine(line []byte, r eventstore.Recorded) []byte {
	line = append(line, `{"position":{"commit":`...)
	line = strconv.AppendUint(line, r.Position.Commit, 10)
	line = append(line, `,"prepare":`...)
	line = strconv.AppendUint(line, r.Position.Prepare, 10)
	line = append(line, `},"stream":`...)
	line = AppendText(line, r.Stream)
	line = append(line, `,"revision":`...)
	line = strconv.AppendInt(line, int64(r.Revision), 10)
	line = append(line, `,"id":"`...)
	line = append(line, r.ID.String()...)
	line = append(line, `","type":`...)
	line = AppendText(line, r.Type)
	line = append(line, `,"time":"`...)
	line = r.Time.UTC().AppendFormat(line, time.RFC3339Nano)
	line = append(line, '"')
	line = appendStored(line, "metadata", r.Metadata)
	line = appendStored(line, "data", r.Data)
	return append(line, '}')
}

// AppendText writes a text as JSON.
func AppendText(line []byte, text string) []byte {
	odd := func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }
	if strings.ContainsFunc(text, odd) {
		quoted, _ := json.Marshal(text) // a string can be encoded
		return append(line, quoted...)
	}
	line = append(line, '"')
	line = append(line, text...)
	return append(line, '"')
}

// appendStored writes stored bytes under a name, or nothing where there are none.
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

// Verbatim tells whether stored bytes can lie in a line as they are, and be read from it exactly.
func Verbatim(stored []byte) bool {
	return isPlain(stored) ||
		!bytes.ContainsAny(stored, "\r\n") && json.Valid(stored) && !isTooDeep(stored) && len(
			bytes.TrimSpace(stored),
		) == len(stored)
}

// mostNested is how many objects and arrays may lie in each other where a line is to be read:
// encoding/json reads 10,000, the line is one, and the line of a proof around it is another.
const mostNested = 10_000 - 2

// isTooDeep tells of JSON whether more objects and arrays lie in each other than mostNested.
func isTooDeep(stored []byte) bool {
	if len(stored) <= 2*mostNested { // each has a beginning and an end
		return false
	}
	depth, inText := 0, false
	for i := 0; i < len(stored) && depth <= mostNested; i++ {
		switch c := stored[i]; {
		case c == '"':
			inText = !inText
		case inText && c == '\\':
			i++ // what follows is escaped
		case inText:
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		}
	}
	return depth > mostNested
}

// isPlain tells of most events that they are verbatim in a fraction of the time: an object of texts
// without escapes, whole numbers, truths, and of such objects and arrays, without spaces between
// them.
func isPlain(stored []byte) bool {
	if len(stored) == 0 || stored[0] != '{' || !isUnescaped(stored) {
		return false
	}
	rest, ok := behindValue(stored, deepest)
	return ok && len(rest) == 0
}

// deepest is how many plain objects and arrays may lie in each other.
const deepest = 4

// isUnescaped tells that there is neither a control character nor the beginning of an escape.
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

// behindValue returns what follows a value. Texts are known to be without escapes.
func behindValue(line []byte, depth int) (rest []byte, ok bool) {
	if len(line) == 0 {
		return nil, false
	}
	switch line[0] {
	case '"':
		return behindText(line)
	case '{':
		return behindMembers(line[1:], true, '}', depth-1)
	case '[':
		return behindMembers(line[1:], false, ']', depth-1)
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

// behindMembers returns what follows the members of an object, which are named, or of an array.
// There is one at least.
func behindMembers(line []byte, named bool, end byte, depth int) (rest []byte, ok bool) {
	for depth >= 0 {
		if named {
			if line, ok = behindText(line); !ok || len(line) == 0 || line[0] != ':' {
				return nil, false
			}
			line = line[1:]
		}
		if line, ok = behindValue(line, depth); !ok || len(line) == 0 ||
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

func behindText(line []byte) (rest []byte, ok bool) {
	if len(line) == 0 || line[0] != '"' {
		return nil, false
	}
	length := bytes.IndexByte(line[1:], '"')
	if length < 0 {
		return nil, false
	}
	return line[1+length+1:], true
}

// Hasher hashes events. It keeps the room for a line from one event to the next.
type Hasher struct{ line []byte }

// Leaf returns the hash of an event's leaf: the tlog.RecordHash of its line, without the room that
// this takes.
func (h *Hasher) Leaf(r eventstore.Recorded) tlog.Hash {
	h.line = AppendLine(append(h.line[:0], 0), r) // RFC 6962 has a zero before a leaf
	return sha256.Sum256(h.line)
}
