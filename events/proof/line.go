package proof

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
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
	return isFlat(stored) ||
		!bytes.ContainsAny(stored, "\r\n") && json.Valid(stored) && len(bytes.TrimSpace(stored)) == len(stored)
}

// isFlat tells of most events that they are verbatim in a fraction of the time: an object of texts without escapes, whole
// numbers and truths, without spaces between them.
func isFlat(stored []byte) bool {
	rest, ok := bytes.CutPrefix(stored, []byte("{"))
	for ok {
		if rest, ok = behindText(rest); !ok {
			return false
		}
		if rest, ok = bytes.CutPrefix(rest, []byte(":")); !ok {
			return false
		}
		if rest, ok = behindValue(rest); !ok {
			return false
		}
		if len(rest) == 1 && rest[0] == '}' {
			return true
		}
		rest, ok = bytes.CutPrefix(rest, []byte(","))
	}
	return false
}

func behindText(line []byte) (rest []byte, ok bool) {
	if len(line) == 0 || line[0] != '"' {
		return nil, false
	}
	for i, c := range line[1:] {
		if c == '"' {
			return line[i+2:], true
		}
		if c == '\\' || c < ' ' {
			return nil, false
		}
	}
	return nil, false
}

func behindValue(line []byte) (rest []byte, ok bool) {
	for _, truth := range []string{"true", "false"} {
		if rest, ok := bytes.CutPrefix(line, []byte(truth)); ok {
			return rest, true
		}
	}
	digits := 0
	for digits < len(line) && '0' <= line[digits] && line[digits] <= '9' {
		digits++
	}
	if digits == 1 || digits > 1 && line[0] != '0' {
		return line[digits:], true
	}
	return behindText(line)
}

// Hasher hashes events. It keeps the room for a line from one event to the next.
type Hasher struct{ line []byte }

// Leaf returns the hash of an event's leaf: the tlog.RecordHash of its line, without the room that this takes.
func (h *Hasher) Leaf(r eventstore.Recorded) tlog.Hash {
	h.line = AppendLine(append(h.line[:0], 0), r) // RFC 6962 has a zero before a leaf
	return sha256.Sum256(h.line)
}
