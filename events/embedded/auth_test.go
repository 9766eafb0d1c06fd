package embedded_test

import (
	"context"
	"crypto/tls"
	"net"
	"testing"

	"linkledger/events/embedded"
	"linkledger/events/embedded/servertest"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
)

func TestCredentialsOverTLS(t *testing.T) {
	t.Parallel()
	s := servertest.Open(t, func(c *embedded.Config) { c.TLS, c.User, c.Password = servertest.TLS(t), "linker", "se:cret" })
	for login, want := range map[string]esdb.ErrorCode{
		"linker:se%3Acret@": 0,
		"linker:wrong@":     esdb.ErrorCodeUnauthenticated,
		"other:se%3Acret@":  esdb.ErrorCodeUnauthenticated,
		"":                  esdb.ErrorCodeUnauthenticated,
	} {
		c := servertest.DialURL(t, "esdb://"+login+s.Addr+"?tls=true&tlsVerifyCert=false")
		if want != 0 { // a unary call: the client returns EOF for an append that is refused while it sends
			_, err := c.DeleteStream(servertest.Context(t), "s"+login, esdb.DeleteStreamOptions{})
			servertest.WantCode(t, err, want)
			continue
		}
		if _, err := c.AppendToStream(servertest.Context(t), "s"+login, esdb.AppendToStreamOptions{}, servertest.Event("a")); err != nil {
			t.Errorf("%q: %v", login, err)
		}
	}
	conn, err := grpc.NewClient(
		s.Addr, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{InsecureSkipVerify: true})),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = streams.NewStreamsClient(conn).Delete(servertest.Context(t), &streams.DeleteReq{})
	if status.Code(err) != codes.Unauthenticated {
		t.Fatalf("delete without credentials: %v", err)
	}
}

func TestCredentialsNeedTLS(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]embedded.Config{
		"no TLS":   {Dir: t.TempDir(), User: "a", Password: "b"},
		"no user":  {Dir: t.TempDir(), Password: "b", TLS: servertest.TLS(t)},
		"bad user": {Dir: t.TempDir(), User: "a:b", TLS: servertest.TLS(t)},
	} {
		if s, err := embedded.Open(cfg); err == nil {
			s.Close()
			t.Errorf("%s was accepted", name)
		}
	}
}

// TestDialerNeedsNoCredentials checks that connections through memory need neither TLS nor
// credentials.
func TestDialerNeedsNoCredentials(t *testing.T) {
	t.Parallel()
	s := servertest.Open(t, func(c *embedded.Config) { c.TLS, c.User, c.Password = servertest.TLS(t), "linker", "secret" })
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
	_, err = streams.NewStreamsClient(conn).Delete(servertest.Context(t), request)
	if status.Code(err) != codes.FailedPrecondition {
		t.Error(err)
	}
}
