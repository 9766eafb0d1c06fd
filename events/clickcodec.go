package events

import (
	"strings"
	"time"
	"unsafe"
)

// Clicks are most of a log, so this file encodes and decodes them several times as fast as
// encoding/json. The functions write exactly the bytes that encoding/json writes and read exactly
// what it reads. If one of them returns false, the caller MUST use encoding/json.

// appendClicks appends the stored body of an event. It returns false for an event without clicks,
// with strings that JSON escapes, or with times that are not UTC or not in the years 0 to 9999.
func appendClicks(body []byte, e ClicksRecorded) ([]byte, bool) {
	if len(e.Clicks) == 0 {
		return nil, false
	}
	body = append(body, `{"clicks":[`...)
	for i, c := range e.Clicks {
		if c.At.Location() != time.UTC || c.At.Year() < 0 || c.At.Year() > 9999 {
			return nil, false
		}
		for _, text := range [...]string{
			c.URLID, c.Visitor, c.Former, c.Referrer, c.Browser, c.OS, c.Device, c.Country,
		} {
			if !isPlain(text) {
				return nil, false
			}
		}
		if i > 0 {
			body = append(body, ',')
		}
		body = append(append(append(body, `{"url":"`...), c.URLID...), `","visitor":"`...)
		body = appendOptional(append(append(body, c.Visitor...), '"'), `,"former":"`, c.Former)
		body = append(c.At.AppendFormat(append(body, `,"at":"`...), time.RFC3339Nano), '"')
		if c.Bot {
			body = append(body, `,"bot":true`...)
		}
		body = appendOptional(body, `,"referrer":"`, c.Referrer)
		body = appendOptional(body, `,"browser":"`, c.Browser)
		body = appendOptional(body, `,"os":"`, c.OS)
		body = appendOptional(body, `,"device":"`, c.Device)
		body = append(appendOptional(body, `,"country":"`, c.Country), '}')
	}
	return append(body, "]}"...), true
}

func appendOptional(body []byte, name, value string) []byte {
	if value == "" {
		return body
	}
	return append(append(append(body, name...), value...), '"')
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

// readClicks decodes what appendClicks writes. The strings share the memory of body, because many
// clicks wait in memory to be counted.
func readClicks(body []byte) (ClicksRecorded, bool) {
	//nolint:gosec // see Decode
	r := clickReader{rest: unsafe.String(unsafe.SliceData(body), len(body))}
	if !r.skip(`{"clicks":[`) {
		return ClicksRecorded{}, false
	}
	e := ClicksRecorded{Clicks: make([]Click, 0, strings.Count(r.rest, `{"url":"`))}
	for next := true; next; next = r.skip(",") {
		var c Click
		c.URLID = r.text(`{"url":"`)
		c.Visitor = r.text(`,"visitor":"`)
		c.Former = r.optional(`,"former":"`)
		if c.At.UnmarshalText([]byte(r.text(`,"at":"`))) != nil {
			return ClicksRecorded{}, false
		}
		c.Bot = r.skip(`,"bot":true`)
		c.Referrer = r.optional(`,"referrer":"`)
		c.Browser = r.optional(`,"browser":"`)
		c.OS = r.optional(`,"os":"`)
		c.Device = r.optional(`,"device":"`)
		c.Country = r.optional(`,"country":"`)
		if !r.skip("}") {
			return ClicksRecorded{}, false
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
