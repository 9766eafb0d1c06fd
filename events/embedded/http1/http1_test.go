package http1_test

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

	"linkledger/events/embedded"
	"linkledger/events/embedded/servertest"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
)

// TestHTTP1 checks that the gRPC port answers HTTP/1.1 requests and continues to serve gRPC.
func TestHTTP1(t *testing.T) {
	t.Parallel()
	clear, secure := servertest.Open(t), servertest.Open(t, func(c *embedded.Config) { c.TLS = servertest.TLS(t) })
	client := &http.Client{Timeout: servertest.Timeout, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}},
	}}
	for _, base := range []string{"http://" + clear.Addr, "https://" + secure.Addr} {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete} {
			body := bytes.Repeat([]byte("x"), 100_000)
			request, err := http.NewRequestWithContext(
				servertest.Context(t), method, base+"/subscriptions", bytes.NewReader(body),
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
	servertest.Append(t, servertest.Dial(t, clear), "s", esdb.NoStream{}, "a")
}

// TestStrangeConnections opens connections that send nothing, arbitrary bytes or TLS. It checks
// that the server closes them before a client could fear that it waits for the handshake.
func TestStrangeConnections(t *testing.T) {
	t.Parallel()
	s := servertest.Open(t)
	for said, ends := range map[string]bool{
		"": true, "P": true, "PRI": true, "GET / HT": true, "nonsense": false, "\x16\x03\x01\x02": false,
	} {
		conn, err := net.Dial("tcp", s.Addr)
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
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
	servertest.Append(t, servertest.Dial(t, s), "s", esdb.NoStream{}, "a")
}
