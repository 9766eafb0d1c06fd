package embedded

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
)

func testTLS(t *testing.T) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}

func TestCredentialsOverTLS(t *testing.T) {
	t.Parallel()
	s := open(t, func(c *Config) { c.TLS, c.User, c.Password = testTLS(t), "linker", "se:cret" })
	for login, want := range map[string]esdb.ErrorCode{
		"linker:se%3Acret@": 0,
		"linker:wrong@":     esdb.ErrorCodeUnauthenticated,
		"other:se%3Acret@":  esdb.ErrorCodeUnauthenticated,
		"":                  esdb.ErrorCodeUnauthenticated,
	} {
		c := dialURL(t, "esdb://"+login+s.addr+"?tls=true&tlsVerifyCert=false")
		if want != 0 { // a unary call: the client returns EOF for an append that is refused while it sends
			_, err := c.DeleteStream(testContext(t), "s"+login, esdb.DeleteStreamOptions{})
			wantCode(t, err, want)
			continue
		}
		if _, err := c.AppendToStream(testContext(t), "s"+login, esdb.AppendToStreamOptions{}, event("a")); err != nil {
			t.Errorf("%q: %v", login, err)
		}
	}
	conn, err := grpc.NewClient(
		s.addr, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{InsecureSkipVerify: true})),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = streams.NewStreamsClient(conn).Delete(testContext(t), &streams.DeleteReq{})
	if status.Code(err) != codes.Unauthenticated {
		t.Fatalf("delete without credentials: %v", err)
	}
}

func TestCredentialsNeedTLS(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]Config{
		"no TLS":   {Dir: t.TempDir(), User: "a", Password: "b"},
		"no user":  {Dir: t.TempDir(), Password: "b", TLS: testTLS(t)},
		"bad user": {Dir: t.TempDir(), User: "a:b", TLS: testTLS(t)},
	} {
		if s, err := Open(cfg); err == nil {
			s.Close()
			t.Errorf("%s was accepted", name)
		}
	}
}

// TestDialerNeedsNoCredentials checks that connections through memory need neither TLS nor
// credentials.
func TestDialerNeedsNoCredentials(t *testing.T) {
	t.Parallel()
	s := open(t, func(c *Config) { c.TLS, c.User, c.Password = testTLS(t), "linker", "secret" })
	dial := s.Dialer()
	conn, err := grpc.NewClient("passthrough:memory", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return dial(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	request := &streams.DeleteReq{Options: &streams.DeleteReq_Options{
		StreamIdentifier:       &shared.StreamIdentifier{StreamName: []byte("s")},
		ExpectedStreamRevision: &streams.DeleteReq_Options_Any{Any: &shared.Empty{}},
	}}
	// The call is accepted, and fails because the stream does not exist.
	_, err = streams.NewStreamsClient(conn).Delete(testContext(t), request)
	if status.Code(err) != codes.FailedPrecondition {
		t.Error(err)
	}
}
