package events

import (
	"encoding/hex"
	"strings"
)

// maxHashInID is the number of free bytes in a UUID of version 8 (RFC 9562, section 5.8): all
// except bytes 6 and 8, which have the version and the variant.
const maxHashInID = 14

// LinkOfHash returns the id of the link that is created in the stream of a hash. The id is a UUID
// of version 8 that contains the hash. LinkOfHash returns false if the hash is empty, longer than
// 14 bytes or has a zero byte.
func LinkOfHash(hash string) (id string, ok bool) {
	if hash == "" || len(hash) > maxHashInID || strings.IndexByte(hash, 0) >= 0 {
		return "", false
	}
	var free [maxHashInID]byte
	copy(free[:], hash)
	digits := hex.EncodeToString(free[:6]) + "80" + hex.EncodeToString(free[6:7]) +
		"80" + hex.EncodeToString(free[7:])
	return digits[:8] + "-" + digits[8:12] + "-" + digits[12:16] + "-" + digits[16:20] + "-" +
		digits[20:], true
}

// LinkStream returns the stream of a link: the stream of a hash if LinkOfHash made the id, and
// otherwise url-<id>. A link stays in its stream when it is renamed.
func LinkStream(id string) string {
	digits, err := hex.DecodeString(strings.ReplaceAll(id, "-", ""))
	if err == nil && len(digits) == maxHashInID+2 {
		free := string(digits[:6]) + string(digits[7:8]) + string(digits[9:])
		hash := strings.TrimRight(free, "\x00")
		if of, ok := LinkOfHash(hash); ok && of == id {
			return StreamHash + hash
		}
	}
	return StreamURL + id
}

// LinkIn returns the id of the link that a stream can hold. It returns false if the stream can hold
// none. The stream of a hash may also have no link, but only claims of links in other streams.
func LinkIn(stream string) (id string, ok bool) {
	if id, ok := strings.CutPrefix(stream, StreamURL); ok {
		return id, true
	}
	hash, ok := strings.CutPrefix(stream, StreamHash)
	if !ok {
		return "", false
	}
	return LinkOfHash(hash)
}
