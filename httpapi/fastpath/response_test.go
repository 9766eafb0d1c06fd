package fastpath

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"
)

// TestAnswersEndWhereTheyShould checks that the next response begins where this one ends, with any headers that the
// handler sets.
func TestAnswersEndWhereTheyShould(t *testing.T) {
	t.Parallel()
	for _, status := range []int{
		0, http.StatusOK, http.StatusNoContent, http.StatusFound, http.StatusNotModified, http.StatusGone,
	} {
		a := newResponseBuffer()
		for range 2 { // the second time after a reset
			header := a.Header()
			header.Set("Content-Length", "1000")
			header.Set("Transfer-Encoding", "chunked")
			header.Set("Connection", "close")
			header.Set("Date", "yesterday")
			if status != 0 {
				a.WriteHeader(status)
			}
			a.WriteHeader(http.StatusTeapot) // ignored, because the status is already set
			_, err := a.Write([]byte("body"))
			if refused := errors.Is(err, http.ErrBodyNotAllowed); refused == hasBody(a.status) {
				t.Errorf("status %d: body refused: %t", status, refused)
			}
			wire := bufio.NewReader(bytes.NewReader(a.bytes(time.Unix(0, 0), false)))
			got, err := http.ReadResponse(wire, nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(got.Body)
			if err != nil || hasBody(got.StatusCode) != (string(body) == "body") {
				t.Errorf("status %d: body %q, %v", status, body, err)
			}
			if rest, err := io.ReadAll(wire); err != nil || len(rest) > 0 {
				t.Errorf("status %d: %q follows, %v", status, rest, err)
			}
			if got.Close || len(got.TransferEncoding) > 0 || got.Header.Get("Date") != "Thu, 01 Jan 1970 00:00:00 GMT" {
				t.Errorf("status %d: %v", status, got.Header)
			}
			_ = got.Body.Close()
			a.reset()
		}
	}
}

// TestFieldsEndWhereTheyShould checks that line breaks in names and values of fields cannot add a
// field.
func TestFieldsEndWhereTheyShould(t *testing.T) {
	t.Parallel()
	a := newResponseBuffer()
	a.header["Location"] = []string{"https://example.com/\r\nSet-Cookie: a=b"}
	a.header["Referrer-Policy"] = []string{"origin", "no-referrer"}
	a.header["X\r\nSet-Cookie"] = []string{"a=b"}
	got, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(a.bytes(time.Unix(0, 0), false))), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	want := http.Header{
		"Date": {"Thu, 01 Jan 1970 00:00:00 GMT"}, "Content-Length": {"0"},
		"Location": {"https://example.com/  Set-Cookie: a=b"}, "Referrer-Policy": {"origin", "no-referrer"},
	}
	if !maps.EqualFunc(got.Header, want, slices.Equal) {
		t.Errorf("got %q, want %q", got.Header, want)
	}
}
