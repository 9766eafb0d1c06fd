package events

import (
	"strings"
	"time"
	"unsafe"
)

// Clicks are most of a log. What the functions of this file write is what encoding/json writes, to
// the byte, and what they read is what it reads, each several times as fast; where one of them is
// false, encoding/json has to do it.

// appendClicks appends the stored body of an event. It is false for one with texts that have to be
// escaped, or with times that are not UTC.
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

// isPlain tells whether a text is the same in JSON.
func isPlain(text string) bool {
	for i := range len(text) {
		switch b := text[i]; {
		case b < ' ', b > '~', b == '"', b == '\\', b == '<', b == '>', b == '&':
			return false
		}
	}
	return true
}

// readClicks reads what appendClicks has written. The texts lie in the body: many clicks wait in
// memory to be counted.
func readClicks(body []byte) (ClicksRecorded, bool) {
	//nolint:gosec // see Decode
	r := clickReader{rest: unsafe.String(unsafe.SliceData(body), len(body))}
	if !r.take(`{"clicks":[`) {
		return ClicksRecorded{}, false
	}
	e := ClicksRecorded{Clicks: make([]Click, 0, strings.Count(r.rest, `{"url":"`))}
	for next := true; next; next = r.take(",") {
		var c Click
		c.URLID = r.text(`{"url":"`)
		c.Visitor = r.text(`,"visitor":"`)
		c.Former = r.optional(`,"former":"`)
		if c.At.UnmarshalText([]byte(r.text(`,"at":"`))) != nil {
			return ClicksRecorded{}, false
		}
		c.Bot = r.take(`,"bot":true`)
		c.Referrer = r.optional(`,"referrer":"`)
		c.Browser = r.optional(`,"browser":"`)
		c.OS = r.optional(`,"os":"`)
		c.Device = r.optional(`,"device":"`)
		c.Country = r.optional(`,"country":"`)
		if !r.take("}") {
			return ClicksRecorded{}, false
		}
		e.Clicks = append(e.Clicks, c)
	}
	return e, r.take("]}") && r.rest == "" && !r.failed
}

// clickReader goes through a text.
type clickReader struct {
	rest   string
	failed bool // something else was there than what had to be
}

// take passes over a text, if it is there.
func (r *clickReader) take(text string) (ok bool) {
	r.rest, ok = strings.CutPrefix(r.rest, text)
	return ok
}

// text returns the value behind a name.
func (r *clickReader) text(name string) string {
	if !r.take(name) {
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

// optional returns the value behind a name, if that is there.
func (r *clickReader) optional(name string) string {
	if !strings.HasPrefix(r.rest, name) {
		return ""
	}
	return r.text(name)
}
