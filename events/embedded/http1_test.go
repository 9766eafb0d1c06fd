package embedded

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
)

// TestHTTP1 checks that the gRPC port answers HTTP/1.1 requests and continues to serve gRPC.
func TestHTTP1(t *testing.T) {
	t.Parallel()
	clear, secure := open(t), open(t, func(c *Config) { c.TLS = testTLS(t) })
	client := &http.Client{Timeout: testTimeout, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}},
	}}
	for _, base := range []string{"http://" + clear.addr, "https://" + secure.addr} {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete} {
			body := bytes.Repeat([]byte("x"), 100_000)
			request, err := http.NewRequestWithContext(
				testContext(t), method, base+"/subscriptions", bytes.NewReader(body),
			)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := client.Do(request)
			if err != nil {
				t.Errorf("%s %s: %v", method, base, err)
				continue
			}
			text, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			oneLine := strings.Count(string(text), "\n") == 1 && strings.HasSuffix(string(text), "\n")
			if err != nil || answer.StatusCode != http.StatusNotImplemented || oneLine == (method == http.MethodHead) {
				t.Errorf("%s %s: %s %q, %v", method, base, answer.Status, text, err)
			}
		}
	}
	client.CloseIdleConnections()
	appendTo(t, dial(t, clear), "s", esdb.NoStream{}, "a")
}

// TestStrangeConnections opens connections that send nothing, arbitrary bytes or TLS. It checks
// that the server closes them before handshakeTimeout.
func TestStrangeConnections(t *testing.T) {
	t.Parallel()
	s := open(t)
	for said, ends := range map[string]bool{
		"": true, "P": true, "PRI": true, "GET / HT": true, "nonsense": false, "\x16\x03\x01\x02": false,
	} {
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.SetDeadline(time.Now().Add(handshakeTimeout / 2)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, said); err != nil {
			t.Fatal(err)
		}
		if ends {
			if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%q: the connection stays open", said)
		}
		conn.Close()
	}
	appendTo(t, dial(t, s), "s", esdb.NoStream{}, "a")
}
