package embedded

import (
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/gossip"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/cockroachdb/pebble/v2/vfs"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"linkledger/events/embedded/embeddedtest"
	"linkledger/events/embedded/revision"
)

// serveFailing is like serve, for a store whose Close returns an error.
func serveFailing(t *testing.T, store *Store) *server {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- store.Serve(ln) }()
	t.Cleanup(func() {
		_ = store.Close()
		<-served
	})
	return &server{store, ln.Addr().String()}
}

func TestOpenRefusals(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]Config{
		"no folder":     {},
		"negative size": {Dir: t.TempDir(), MaxAppendSize: -1},
		"huge size":     {Dir: t.TempDir(), MaxAppendSize: LargestAppendSize + 1},
	} {
		if s, err := Open(cfg); err == nil {
			s.Close()
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestCloseEndsSubscriptions(t *testing.T) {
	t.Parallel()
	s := open(t)
	c := dial(t, s)
	all, err := c.SubscribeToAll(testContext(t), esdb.SubscribeToAllOptions{From: esdb.End{}})
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	one, err := c.SubscribeToStream(testContext(t), "s", esdb.SubscribeToStreamOptions{From: esdb.End{}})
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	for _, sub := range []*esdb.Subscription{all, one} {
		if ev := sub.Recv(); ev.CaughtUp == nil {
			t.Fatalf("got %+v, want caught up", ev)
		}
	}
	if n := s.Stat().Subscriptions; n != 2 {
		t.Fatalf("%d subscriptions, want 2", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, sub := range []*esdb.Subscription{all, one} {
		ev := sub.Recv()
		if ev.SubscriptionDropped == nil || status.Code(ev.SubscriptionDropped.Error) != codes.Unavailable {
			t.Fatalf("got %+v, want Unavailable", ev)
		}
	}
	if n := s.Stat().Subscriptions; n != 0 {
		t.Fatalf("%d subscriptions after Close", n)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(ln); !errors.Is(err, ErrClosed) {
		t.Fatalf("serve after close: %v", err)
	}
	if out := embeddedtest.Append(s.storage.Writer(), "s", revision.Any, "a"); !errors.Is(out.Err, ErrClosed) {
		t.Fatalf("append after close: %+v", out)
	}
}

func TestDiscovery(t *testing.T) {
	t.Parallel()
	s := open(t)
	c := dialURL(t, "esdb+discover://"+s.addr+"?tls=false")
	appendTo(t, c, "s", esdb.NoStream{}, "a")
	version, err := c.GetServerVersion()
	if err != nil || version.Major != 23 {
		t.Fatalf("version %+v, %v", version, err)
	}
}

func TestGossipOfWildcardListener(t *testing.T) {
	t.Parallel()
	s, err := Open(Config{Dir: "store", FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	port := ln.Addr().(*net.TCPAddr).Port
	conn, err := grpc.NewClient(
		fmt.Sprintf("127.0.0.1:%d", port), grpc.WithTransportCredentials(insecure.NewCredentials()),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	info, err := gossip.NewGossipClient(conn).Read(testContext(t), &shared.Empty{})
	if err != nil || len(info.Members) != 1 {
		t.Fatalf("%v, %v", info, err)
	}
	m := info.Members[0]
	if m.HttpEndPoint.Address != "127.0.0.1" || m.HttpEndPoint.Port != uint32(port) ||
		m.State != gossip.MemberInfo_Leader || !m.IsAlive {
		t.Fatalf("member %v", m)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-served; err != nil {
		t.Fatalf("serve returned %v after Close", err)
	}
}
