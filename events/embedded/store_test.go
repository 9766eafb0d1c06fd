package embedded_test

import (
	"errors"
	"net"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"linkledger/events/embedded"
	"linkledger/events/embedded/embeddedtest"
	"linkledger/events/embedded/revision"
	"linkledger/events/embedded/servertest"
)

func TestOpenRefusals(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]embedded.Config{
		"no folder":     {},
		"negative size": {Dir: t.TempDir(), MaxAppendSize: -1},
		"huge size":     {Dir: t.TempDir(), MaxAppendSize: embedded.LargestAppendSize + 1},
	} {
		if s, err := embedded.Open(cfg); err == nil {
			s.Close()
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestCloseEndsSubscriptions(t *testing.T) {
	t.Parallel()
	s := servertest.Open(t)
	c := servertest.Dial(t, s)
	all, err := c.SubscribeToAll(servertest.Context(t), esdb.SubscribeToAllOptions{From: esdb.End{}})
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	one, err := c.SubscribeToStream(servertest.Context(t), "s", esdb.SubscribeToStreamOptions{From: esdb.End{}})
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
	if err := s.Serve(ln); !errors.Is(err, embedded.ErrClosed) {
		t.Fatalf("serve after close: %v", err)
	}
	if out := embeddedtest.Append(s.Writer(), "s", revision.Any, "a"); !errors.Is(out.Err, embedded.ErrClosed) {
		t.Fatalf("append after close: %+v", out)
	}
}
