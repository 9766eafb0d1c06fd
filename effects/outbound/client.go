package outbound

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"time"
)

const (
	// maxAnswer is how many bytes of an answer are read.
	maxAnswer = 64 << 10
	// maxHeader bounds the header of an answer, in bytes.
	maxHeader = 16 << 10
	// connectTimeout bounds the connection, and then the handshake of TLS. The end of a request
	// does not end them.
	connectTimeout = 5 * time.Second
	// pingTime is after how much silence a connection of HTTP/2 is checked, and how long the check
	// takes.
	pingTime = 10 * time.Second
	// idleTime is how long a connection waits for the next request to its host.
	idleTime = 30 * time.Second
	// maxIdle and maxIdleOfHost bound the connections that wait.
	maxIdle       = 256
	maxIdleOfHost = 4
)

// ErrForbidden means that the host has an address that is not part of the public Internet, and that
// Config.Allow does not have.
var ErrForbidden = errors.New("the address of the host is not allowed: it is not a public one")

// Config configures a Client.
type Config struct {
	// Allow are networks that may be called although they are not public.
	Allow []netip.Prefix
	// Agent is the User-Agent of the requests.
	Agent string
	// Roots are the authorities that sign certificates; nil: the ones that the system has.
	Roots *x509.CertPool
}

// Client makes requests. It is safe for concurrent use. Its connections are its own.
type Client struct {
	cfg    Config
	client *http.Client
}

// New returns a Client.
func New(cfg Config) *Client {
	c := &Client{cfg: cfg}
	dialer := &net.Dialer{Timeout: connectTimeout, ControlContext: c.control}
	c.client = &http.Client{
		Transport: &http.Transport{
			DialContext:         dialer.DialContext,
			TLSClientConfig:     &tls.Config{RootCAs: cfg.Roots, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout: connectTimeout,
			ForceAttemptHTTP2:   true,
			HTTP2: &http.HTTP2Config{
				SendPingTimeout: pingTime, PingTimeout: pingTime,
			},
			DisableCompression:     true, // an answer is as large as what was received
			MaxIdleConns:           maxIdle,
			MaxIdleConnsPerHost:    maxIdleOfHost,
			IdleConnTimeout:        idleTime,
			MaxResponseHeaderBytes: maxHeader,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
	return c
}

// Close ends the connections that wait for requests.
func (c *Client) Close() { c.client.CloseIdleConnections() }

// control is called before each connection is made, with the address that the name was resolved to.
func (c *Client) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return ErrForbidden
	}
	ip := to.Addr().Unmap().WithZone("")
	for _, network := range c.cfg.Allow {
		if network.Contains(ip) {
			return nil
		}
	}
	if !isPublic(to.Addr()) {
		return ErrForbidden
	}
	return nil
}

// Answer is the answer to a request.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte // its beginning
}

// Post sends a body. It returns the answer, also if its status is an error.
func (c *Client) Post(
	ctx context.Context, url string, header http.Header, body []byte,
) (Answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return Answer{}, errors.New("the address cannot be read")
	}
	maps.Copy(request.Header, header)
	request.Header.Set("User-Agent", c.cfg.Agent)
	response, err := c.client.Do(request)
	if err != nil {
		return Answer{}, explain(err)
	}
	defer func() { _ = response.Body.Close() }()
	// A body that ends early does not change what the status says.
	beginning, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	return Answer{Status: response.StatusCode, Header: response.Header, Body: beginning}, nil
}

// explain returns an error that people outside may read: it names no address of a network and no
// details of a certificate.
func explain(err error) error {
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	var alert tls.AlertError
	var record tls.RecordHeaderError
	switch {
	case errors.Is(err, ErrForbidden):
		return ErrForbidden
	case errors.Is(err, context.DeadlineExceeded), os.IsTimeout(err):
		return errors.New("no answer in time")
	case errors.As(err, &dns):
		return errors.New("the name of the host has no address")
	case errors.As(err, &certificate):
		return errors.New("the certificate of the host is not valid for it")
	case errors.As(err, &alert), errors.As(err, &record):
		return errors.New("the host does not speak TLS as expected")
	case errors.Is(err, syscall.ECONNREFUSED):
		return errors.New("the host refuses connections")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, syscall.ECONNRESET):
		return errors.New("the host closed the connection")
	case strings.Contains(err.Error(), "malformed"):
		return errors.New("the answer is not HTTP")
	}
	return errors.New("the request failed")
}
