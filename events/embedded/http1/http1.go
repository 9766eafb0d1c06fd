// Package http1 answers requests over HTTP/1.1 that reach a port of gRPC.
package http1

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc/credentials"
)

// http1Answer is the body of every answer over HTTP/1.1.
const http1Answer = "This port speaks gRPC over HTTP/2. The HTTP API and persistent subscriptions " +
	"of EventStoreDB are not offered.\n"

const (
	http2Begins = "PRI"       // of the first bytes of a connection, which are no method of HTTP/1.1
	http1Enough = time.Second // for a client to take its answer
)

// ProtocolName is the name of HTTP/1.1 in the negotiation of TLS.
const ProtocolName = "http/1.1"

// doorkeeper lets gRPC in, and answers requests over HTTP/1.1 with 501. Clients
// of EventStoreDB make some to the port of gRPC, and would otherwise find the
// answer malformed.
type doorkeeper struct {
	credentials.TransportCredentials

	limit int64 // of the bytes of a request that are read
}

// NewCredentials returns credentials that answer HTTP/1.1, of whose requests no
// more than limit bytes are read, and leave all else to next.
func NewCredentials(
	next credentials.TransportCredentials, limit int64,
) credentials.TransportCredentials {
	return doorkeeper{next, limit}
}

// ServerHandshake implements credentials.TransportCredentials. The server has
// set a deadline to the connection.
func (d doorkeeper) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := d.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		return nil, nil, err
	}
	if secure, ok := info.(credentials.TLSInfo); ok {
		if secure.State.NegotiatedProtocol == ProtocolName {
			return nil, nil, refuseHTTP1(conn, d.limit)
		}
		return conn, info, nil
	}
	first := make([]byte, len(http2Begins))
	if _, err := io.ReadFull(conn, first); err != nil {
		return nil, nil, io.EOF // it came to nothing, which is no error
	}
	begun := &begunConn{Conn: conn, first: first}
	switch {
	case string(first) == http2Begins:
		return begun, info, nil
	case bytes.ContainsFunc(first, notOfMethods):
		return nil, nil, errNotHTTP // TLS, for one: it is not left waiting
	}
	return nil, nil, refuseHTTP1(begun, d.limit)
}

var errNotHTTP = errors.New("the client speaks neither HTTP/2 nor HTTP/1.1")

func notOfMethods(r rune) bool { return r < 'A' || r > 'Z' }

// refuseHTTP1 answers one request and closes the connection. It returns what
// tells the server that this was done.
func refuseHTTP1(conn net.Conn, limit int64) error {
	defer conn.Close() //nolint:errcheck // the client has its answer, or is gone
	request, err := http.ReadRequest(bufio.NewReader(io.LimitReader(conn, limit)))
	if err != nil {
		return credentials.ErrConnDispatched
	}
	answer := http.Response{
		StatusCode: http.StatusNotImplemented, ProtoMajor: 1, ProtoMinor: 1, Request: request,
		Close:         true,
		Header:        http.Header{"Content-Type": {"text/plain; charset=utf-8"}},
		Body:          io.NopCloser(strings.NewReader(http1Answer)),
		ContentLength: int64(len(http1Answer)),
	}
	if err := answer.Write(conn); err != nil {
		return credentials.ErrConnDispatched
	}
	// To close a connection with something unread in it takes the answer back.
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_ = conn.SetReadDeadline(time.Now().Add(http1Enough))
	_, _ = io.CopyN(io.Discard, conn, limit)
	return credentials.ErrConnDispatched
}

// begunConn is a connection of which the first bytes were read.
type begunConn struct {
	net.Conn

	first []byte // that remain to be read again
}

// Read implements net.Conn.
func (c *begunConn) Read(to []byte) (int, error) {
	if len(c.first) == 0 {
		return c.Conn.Read(to)
	}
	n := copy(to, c.first)
	c.first = c.first[n:]
	return n, nil
}

// CloseWrite tells the client that nothing more comes.
func (c *begunConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
