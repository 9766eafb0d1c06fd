package fastpath

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http/httpguts"
)

// isName reports whether a path is eligible in the tests.
func isName(path string) bool {
	return len(path) > 1 && !strings.ContainsFunc(path[1:], func(r rune) bool { return r < 'a' || r > 'z' })
}

func TestParse(t *testing.T) {
	t.Parallel()
	const end = "\r\n\r\n"
	for name, test := range map[string]struct {
		sent string
		want verdict
	}{
		"nothing":           {"", incomplete},
		"a beginning":       {"GE", incomplete},
		"a line":            {"GET /abc HTTP/1.1\r\n", incomplete},
		"half an end":       {"GET /abc HTTP/1.1\r\nHost: a\r\n\r", incomplete},
		"whole":             {"GET /abc HTTP/1.1\r\nHost: a" + end, eligible},
		"with a port":       {"GET /abc HTTP/1.1\r\nHost: [::1]:80" + end, eligible},
		"with what follows": {"GET /abc HTTP/1.1\r\nHost: a" + end + "GET /d", eligible},
		"as browsers do": {
			"GET /abc HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\nUser-Agent: b (c; d)\r\nAccept: */*\r\nCookie: " +
				"e=f" + end,
			eligible,
		},
		"without a space":     {"GET /abc HTTP/1.1\r\nhost:a\r\nx:" + end, eligible},
		"another method":      {"P", ineligible},
		"HEAD":                {"HEAD /abc HTTP/1.1\r\nHost: a" + end, ineligible},
		"another path":        {"GET /abc/d HTTP/1.1\r\nHost: a" + end, ineligible},
		"a query":             {"GET /abc?d HTTP/1.1\r\nHost: a" + end, ineligible},
		"a whole address":     {"GET http://a/abc HTTP/1.1\r\nHost: a" + end, ineligible},
		"another version":     {"GET /abc HTTP/1.0\r\nHost: a" + end, ineligible},
		"no version":          {"GET /abc" + end, ineligible},
		"two spaces":          {"GET /abc  HTTP/1.1\r\nHost: a" + end, ineligible},
		"no host":             {"GET /abc HTTP/1.1\r\nX: a" + end, ineligible},
		"no fields":           {"GET /abc HTTP/1.1" + end, ineligible},
		"an empty host":       {"GET /abc HTTP/1.1\r\nHost:" + end, ineligible},
		"a strange host":      {"GET /abc HTTP/1.1\r\nHost: a/b" + end, ineligible},
		"two hosts":           {"GET /abc HTTP/1.1\r\nHost: a\r\nHost: a" + end, ineligible},
		"a body":              {"GET /abc HTTP/1.1\r\nHost: a\r\nContent-Length: 1" + end + "b", ineligible},
		"chunks":              {"GET /abc HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked" + end, ineligible},
		"an upgrade":          {"GET /abc HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: b" + end, ineligible},
		"its last request":    {"GET /abc HTTP/1.1\r\nHost: a\r\nConnection: close" + end, ineligible},
		"an expectation":      {"GET /abc HTTP/1.1\r\nHost: a\r\nExpect: 100-continue" + end, ineligible},
		"a repeated field":    {"GET /abc HTTP/1.1\r\nHost: a\r\nX: b\r\nx: c" + end, ineligible},
		"a folded field":      {"GET /abc HTTP/1.1\r\nHost: a\r\nX: b\r\n c" + end, ineligible},
		"a space in a name":   {"GET /abc HTTP/1.1\r\nHost: a\r\nX : b" + end, ineligible},
		"no name":             {"GET /abc HTTP/1.1\r\nHost: a\r\n: b" + end, ineligible},
		"no colon":            {"GET /abc HTTP/1.1\r\nHost: a\r\nX" + end, ineligible},
		"a control character": {"GET /abc HTTP/1.1\r\nHost: a\r\nX: \x00" + end, ineligible},
		"a bare LF":           {"GET /abc HTTP/1.1\nHost: a\n\n", ineligible},
		"a bare LF, at last":  {"GET /abc HTTP/1.1\r\nHost: a\n\r\n", ineligible},
		"a bare LF within":    {"GET /abc HTTP/1.1\r\nHost: a\nX: b" + end, ineligible},
		"a bare CR":           {"GET /abc HTTP/1.1\r\nHost: a\r\nX: b\rc" + end, ineligible},
		"many fields":         {"GET /abc HTTP/1.1\r\nHost: a" + strings.Repeat("\r\nX: b", maxFields) + end, ineligible},
		"a long head":         {"GET /abc HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("b", maxHead), ineligible},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, _, got := parse([]byte(test.sent), isName); got != test.want {
				t.Errorf("the verdict is %d, want %d", got, test.want)
			}
		})
	}
}

// FuzzParse checks each eligible request against net/http. net/http must read the same request, and
// its server must not refuse it.
func FuzzParse(f *testing.F) {
	f.Add([]byte("GET /abc HTTP/1.1\r\nHost: a\r\n\r\n"))
	f.Add(
		[]byte(
			"GET /abc HTTP/1.1\r\nHost: a:80\r\nConnection: Keep-Alive\r\nuser-agent:\tb c \r\nX-!: \xff\r\n\r\nGET /d",
		),
	)
	f.Add([]byte("GET /abc HTTP/1.1\r\nHost: a\r\nX: b\r\nX: c\r\n\r\n"))
	f.Add([]byte("GET /abc HTTP/1.1\r\nHost: a\nX: b\r\n\r\n"))
	f.Add([]byte("GET /abc HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		got, size, v := parse(sent, isName)
		if v != eligible {
			return
		}
		for n := range size {
			if _, _, before := parse(sent[:n], isName); before != incomplete {
				t.Fatalf("the first %d bytes are not an incomplete request", n)
			}
		}
		rest := bufio.NewReader(bytes.NewReader(sent[:size]))
		want, err := http.ReadRequest(rest)
		if err != nil {
			t.Fatalf("net/http refuses it: %v", err)
		}
		if _, err := rest.ReadByte(); !errors.Is(err, io.EOF) || want.Body != http.NoBody || want.ContentLength != 0 ||
			want.Close {
			t.Fatal("net/http finds a body, more bytes, or a request to close")
		}
		for name, values := range want.Header {
			if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(values[0]) {
				t.Fatalf("net/http refuses the field %q", name)
			}
		}
		if !httpguts.ValidHostHeader(want.Host) {
			t.Fatalf("net/http refuses the host %q", want.Host)
		}
		if got.Method != want.Method || got.Host != want.Host || got.RequestURI != want.RequestURI ||
			*got.URL != *want.URL ||
			got.Proto != want.Proto || !got.ProtoAtLeast(1, 1) || !maps.EqualFunc(
			got.Header, want.Header, slices.Equal[[]string],
		) {
			t.Fatalf("read as %v, by net/http as %v", &got.Request, want)
		}
	})
}
