package outbound_test

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"linkledger/effects/outbound"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

func newClient(t *testing.T, allow []netip.Prefix, roots *x509.CertPool) *outbound.Client {
	t.Helper()
	c := outbound.New(outbound.Config{Allow: allow, Agent: "Test/1", Roots: roots})
	t.Cleanup(c.Close)
	return c
}

func serve(t *testing.T, handle http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	return s
}

func post(t *testing.T, c *outbound.Client, url string) (outbound.Answer, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	return c.Post(ctx, url, http.Header{"X-Test": {"a"}}, []byte("body"))
}

// TestForbiddenAddresses checks that no connection is made to a network that is not public, in any spelling.
func TestForbiddenAddresses(t *testing.T) {
	t.Parallel()
	c := newClient(t, nil, nil)
	local := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the server was called") })
	port := local.URL[strings.LastIndex(local.URL, ":"):]
	for _, host := range []string{
		"127.0.0.1", "localhost", "127.1", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
		"[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[::127.0.0.1]", "10.0.0.1", "172.16.3.4", "192.168.1.1", "169.254.169.254",
		"[fd00:ec2::254]", "[fe80::1]", "[fec0::1]", "100.64.0.1", "224.0.0.1", "255.255.255.255", "198.18.0.1", "192.0.2.1", "168.63.129.16",
		"[2001:db8::1]", "[2001::1]", "[ff02::1]", "[64:ff9b:1::1]", "[2002:a9fe:a9fe::]", "[64:ff9b::a9fe:a9fe]",
	} {
		_, err := post(t, c, "http://"+host+port+"/")
		if !errors.Is(err, outbound.ErrForbidden) && (host != "127.1" || err == nil) {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// TestRebinding checks the address of the connection, not an earlier look-up of the name. localhost stands for a name
// that is resolved to the service's own network when the connection is made.
func TestRebinding(t *testing.T) {
	t.Parallel()
	s := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the server was called") })
	only6 := newClient(t, []netip.Prefix{netip.MustParsePrefix("2000::/3")}, nil)
	if _, err := post(t, only6, strings.Replace(s.URL, "127.0.0.1", "localhost", 1)); !errors.Is(err, outbound.ErrForbidden) {
		t.Errorf("the name was called: %v", err)
	}
}

func TestPost(t *testing.T) {
	t.Parallel()
	c := newClient(t, loopback, nil)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/large":
			_, _ = w.Write(make([]byte, 1<<20))
		case "/redirect":
			http.Redirect(w, r, "/large", http.StatusFound)
		case "/cut":
			w.Header().Set("Content-Length", "10")
			_, _ = w.Write([]byte("1"))
		default:
			w.WriteHeader(http.StatusTeapot)
			_, _ = w.Write([]byte(r.Method + r.Header.Get("X-Test") + r.Header.Get("User-Agent") + r.Header.Get("Accept-Encoding")))
		}
	})
	if got, err := post(t, c, s.URL); err != nil || got.Status != http.StatusTeapot || string(got.Body) != "POSTaTest/1" {
		t.Errorf("plain: %d %s %v", got.Status, got.Body, err)
	}
	if got, err := post(t, c, s.URL+"/large"); err != nil || len(got.Body) != 64<<10 {
		t.Errorf("large: %d bytes, %v", len(got.Body), err)
	}
	if got, err := post(t, c, s.URL+"/redirect"); err != nil || got.Status != http.StatusFound {
		t.Errorf("redirect: %d %v", got.Status, err)
	}
	if got, err := post(t, c, s.URL+"/cut"); err != nil || got.Status != http.StatusOK || string(got.Body) != "1" {
		t.Errorf("cut off: %d %q %v", got.Status, got.Body, err)
	}
}

// TestErrorsNameNoAddress checks what people outside read about failures.
func TestErrorsNameNoAddress(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refusing := closed.Addr().String()
	_ = closed.Close()
	garbage, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = garbage.Close() })
	go func() {
		for {
			conn, err := garbage.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("hello\r\n\r\n"))
			_ = conn.Close()
		}
	}()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	silent := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	c := newClient(t, loopback, nil)
	for name, of := range map[string]struct{ url, want string }{
		"refused":     {"http://" + refusing, "the host refuses connections"},
		"no address":  {"http://name.invalid/", "the name of the host has no address"},
		"certificate": {secure.URL, "the certificate of the host is not valid for it"},
		"no TLS":      {"https://" + garbage.Addr().String(), "the host does not speak TLS as expected"},
	} {
		if _, err := post(t, c, of.url); err == nil || err.Error() != of.want {
			t.Errorf("%s: %v, want %s", name, err, of.want)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Post(ctx, silent.URL, nil, nil); err == nil || err.Error() != "no answer in time" {
		t.Errorf("silent: %v", err)
	}
	if _, err := post(t, c, "http://"+garbage.Addr().String()); err == nil || strings.Contains(err.Error(), "127.") {
		t.Errorf("garbage: %v", err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	if got, err := post(t, newClient(t, loopback, roots), secure.URL); err != nil || got.Status != http.StatusNotFound {
		t.Errorf("with the authority: %d, %v", got.Status, err)
	}
}
