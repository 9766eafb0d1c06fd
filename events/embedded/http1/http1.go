// Package http1 answers HTTP/1.1 requests that reach a gRPC port.
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

// refusalBody is the body of every HTTP/1.1 response.
const refusalBody = "This port speaks gRPC over HTTP/2. " +
	"The HTTP API and persistent subscriptions of EventStoreDB are not offered.\n"

const (
	http2Preface = "PRI"           // first bytes of an HTTP/2 connection, and no method of HTTP/1.1
	drainTimeout = 5 * time.Second // for the client to send the rest of its request
)

// ProtocolName is the name of HTTP/1.1 in the protocol negotiation of TLS.
const ProtocolName = "http/1.1"

// http1Credentials accepts gRPC connections and answers HTTP/1.1 requests with 501. This is needed
// because clients of EventStoreDB send HTTP/1.1 requests to the gRPC port. Without this answer they
// would receive a malformed response.
type http1Credentials struct {
	credentials.TransportCredentials

	limit int64 // how many bytes of a request are read at most
}

// NewCredentials returns credentials that answer HTTP/1.1 requests and delegate all other
// connections to next. They read at most limit bytes of an HTTP/1.1 request.
func NewCredentials(
	next credentials.TransportCredentials, limit int64,
) credentials.TransportCredentials {
	return http1Credentials{next, limit}
}

// ServerHandshake implements credentials.TransportCredentials. It sets no deadline, because the
// server has set one on the connection.
func (d http1Credentials) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
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
	first := make([]byte, len(http2Preface))
	if _, err := io.ReadFull(conn, first); err != nil {
		return nil, nil, io.EOF // a connection that closes early is no error
	}
	whole := &prefixedConn{Conn: conn, prefix: first}
	switch {
	case string(first) == http2Preface:
		return whole, info, nil
	case bytes.ContainsFunc(first, isNotMethodByte):
		return nil, nil, errNotHTTP // for example a TLS client, which must not be left waiting
	}
	return nil, nil, refuseHTTP1(whole, d.limit)
}

var errNotHTTP = errors.New("the client speaks neither HTTP/2 nor HTTP/1.1")

func isNotMethodByte(r rune) bool { return r < 'A' || r > 'Z' }

// refuseHTTP1 answers one request and closes the connection. It returns ErrConnDispatched to tell
// the server that the connection was handled.
func refuseHTTP1(conn net.Conn, limit int64) error {
	defer conn.Close() //nolint:errcheck // the client has its response, or has disconnected
	request, err := http.ReadRequest(bufio.NewReader(io.LimitReader(conn, limit)))
	if err != nil {
		return credentials.ErrConnDispatched
	}
	answer := http.Response{
		StatusCode: http.StatusNotImplemented, ProtoMajor: 1, ProtoMinor: 1, Request: request,
		Close:         true,
		Header:        http.Header{"Content-Type": {"text/plain; charset=utf-8"}},
		Body:          io.NopCloser(strings.NewReader(refusalBody)),
		ContentLength: int64(len(refusalBody)),
	}
	if err := answer.Write(conn); err != nil {
		return credentials.ErrConnDispatched
	}
	// A connection that is closed with unread data is reset, and the client may lose the response.
	// So the rest of the request is read first.
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_ = conn.SetReadDeadline(time.Now().Add(drainTimeout))
	_, _ = io.CopyN(io.Discard, conn, limit)
	return credentials.ErrConnDispatched
}

// prefixedConn is a connection whose first bytes were already read. Read returns them again.
type prefixedConn struct {
	net.Conn

	prefix []byte // not yet returned by Read
}

// Read implements net.Conn.
func (c *prefixedConn) Read(to []byte) (int, error) {
	if len(c.prefix) == 0 {
		return c.Conn.Read(to)
	}
	n := copy(to, c.prefix)
	c.prefix = c.prefix[n:]
	return n, nil
}

// CloseWrite closes the connection for writing, if it supports that.
func (c *prefixedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
