package fastpath

import (
	"bytes"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
)

const (
	// maxHead is the most bytes of an eligible head.
	maxHead = 4 << 10
	// maxFields is the most header fields of an eligible head.
	maxFields = 32
	getPrefix = "GET /"
	protocol  = "HTTP/1.1"
)

// verdict says what to do with the received bytes of a connection.
type verdict int

const (
	incomplete verdict = iota // read the rest of the head
	eligible                  // serve the request
	ineligible                // hand the connection over to net/http
)

// request is a parsed request. Request.URL points to url, which saves an allocation.
type request struct {
	http.Request

	url url.URL
}

// parse reads the head of a request. If the request is eligible, size is the length of its head in
// bytes. Otherwise r is nil and size is 0.
func parse(sent []byte, takes func(path string) bool) (r *request, size int, v verdict) {
	if n := min(len(sent), len(getPrefix)); string(sent[:n]) != getPrefix[:n] {
		return nil, 0, ineligible
	}
	end := bytes.Index(sent, []byte("\r\n\r\n"))
	if end < 0 {
		if len(sent) >= maxHead || hasBareLF(sent) {
			return nil, 0, ineligible
		}
		return nil, 0, incomplete
	}
	// All parts of the request are substrings of head, which saves allocations.
	head := string(sent[:end])
	line, fields, _ := strings.Cut(head, "\r\n")
	path, plain := strings.CutSuffix(line[len(getPrefix)-1:], " "+protocol)
	if !plain || !takes(path) {
		return nil, 0, ineligible
	}
	r = &request{url: url.URL{Path: path}}
	r.Request = http.Request{
		Method: http.MethodGet, URL: &r.url, RequestURI: path,
		Proto: protocol, ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header, 8), Body: http.NoBody,
	}
	if !r.readFields(fields) {
		return nil, 0, ineligible
	}
	return r, end + len("\r\n\r\n"), eligible
}

// hasBareLF reports whether a line ends without CR. net/http accepts such lines too, but parse does
// not recognize the end of a head that has them.
func hasBareLF(sent []byte) bool {
	return bytes.Count(sent, []byte("\n")) > bytes.Count(sent, []byte("\r\n"))
}

// readFields parses the header fields. It returns false if one of them makes the request
// ineligible.
func (r *request) readFields(fields string) bool {
	values := make([]string, strings.Count(fields, "\n")+1)
	if len(values) > maxFields {
		return false
	}
	for n := 0; fields != ""; n++ {
		var field string
		field, fields, _ = strings.Cut(fields, "\r\n")
		name, value, found := strings.Cut(field, ":")
		if !found || !isToken(name) || !isText(value) {
			return false
		}
		value = strings.Trim(value, " \t")
		switch name = textproto.CanonicalMIMEHeaderKey(name); name {
		case "Host":
			if r.Host != "" || !isHost(value) {
				return false
			}
			r.Host = value
			continue
		case "Connection":
			if !strings.EqualFold(value, "keep-alive") {
				return false
			}
		case "Content-Length", "Transfer-Encoding", "Trailer", "Te", "Expect", "Upgrade", "Pragma":
			return false
		}
		if r.Header[name] != nil { // repeated fields are rare, and invalid for some names
			return false
		}
		values[n] = value
		r.Header[name] = values[n : n+1 : n+1]
	}
	return r.Host != ""
}

// tokens are the characters of a token (RFC 9110 section 5.6.2).
var tokens = set("!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")

// hosts are the characters of eligible values of Host.
var hosts = set("-.:_[]0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")

func set(characters string) (s [256]bool) {
	for i := range len(characters) {
		s[characters[i]] = true
	}
	return s
}

func isToken(text string) bool { return text != "" && only(&tokens, text) }
func isHost(text string) bool  { return text != "" && only(&hosts, text) }

func only(s *[256]bool, text string) bool {
	for i := range len(text) {
		if !s[text[i]] {
			return false
		}
	}
	return true
}

// isText reports whether a text may be the value of a field. Control characters other than the tab
// may not (RFC 9110 section 5.5).
func isText(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
