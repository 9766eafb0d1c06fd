package codec

import (
	"strings"
	"unsafe"

	"linkledger/events"
)

// Clicks are most of a log, so this file decodes them in a fifth of the time of encoding/json, or
// less (docs/decisions/codecs.md). If readClicks returns false, the caller MUST use encoding/json.

// readClicks decodes a body of clicks that Encode wrote, if no string in it needs escapes. The
// result is the same as that of encoding/json. readClicks returns false for all other bodies. The
// strings share the memory of body to save memory, because many clicks wait to be counted.
func readClicks(body []byte) (events.ClicksRecorded, bool) {
	//nolint:gosec // see Decode
	r := clickReader{rest: unsafe.String(unsafe.SliceData(body), len(body))}
	if !r.skip(`{"clicks":[`) {
		return events.ClicksRecorded{}, false
	}
	e := events.ClicksRecorded{Clicks: make([]events.Click, 0, strings.Count(r.rest, `{"url":"`))}
	for next := true; next; next = r.skip(",") {
		var c events.Click
		c.URLID = r.text(`{"url":"`)
		c.Visitor = r.text(`,"visitor":"`)
		c.Former = r.optional(`,"former":"`)
		if c.At.UnmarshalText([]byte(r.text(`,"at":"`))) != nil {
			return events.ClicksRecorded{}, false
		}
		c.Bot = r.skip(`,"bot":true`)
		c.Referrer = r.optional(`,"referrer":"`)
		c.Browser = r.optional(`,"browser":"`)
		c.OS = r.optional(`,"os":"`)
		c.Device = r.optional(`,"device":"`)
		c.Country = r.optional(`,"country":"`)
		c.Program = r.optional(`,"program":"`)
		if !r.skip("}") {
			return events.ClicksRecorded{}, false
		}
		e.Clicks = append(e.Clicks, c)
	}
	return e, r.skip("]}") && r.rest == "" && !r.failed
}

// clickReader parses the encoded form of clicks.
type clickReader struct {
	rest   string
	failed bool // a required value is missing or malformed
}

// skip consumes a prefix and reports whether it was there.
func (r *clickReader) skip(text string) (ok bool) {
	r.rest, ok = strings.CutPrefix(r.rest, text)
	return ok
}

// text returns the string value that follows name. It sets failed if there is none.
func (r *clickReader) text(name string) string {
	if !r.skip(name) {
		r.failed = true
		return ""
	}
	value, rest, ok := strings.Cut(r.rest, `"`)
	if !ok || !isPlain(value) {
		r.failed = true
		return ""
	}
	r.rest = rest
	return value
}

// optional returns the string value that follows name, or "" if name does not come next.
func (r *clickReader) optional(name string) string {
	if !strings.HasPrefix(r.rest, name) {
		return ""
	}
	return r.text(name)
}

// isPlain reports whether JSON encodes a string without escapes.
func isPlain(text string) bool {
	for i := range len(text) {
		switch b := text[i]; {
		case b < ' ', b > '~', b == '"', b == '\\', b == '<', b == '>', b == '&':
			return false
		}
	}
	return true
}
