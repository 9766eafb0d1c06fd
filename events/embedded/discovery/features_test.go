package discovery_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/gossip"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/serverfeatures"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/cockroachdb/pebble/v2/vfs"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/peer"

	"linkledger/events/embedded"
	"linkledger/events/embedded/discovery"
	"linkledger/events/embedded/servertest"
)

func TestDiscovery(t *testing.T) {
	t.Parallel()
	s := servertest.Open(t)
	c := servertest.DialURL(t, "esdb+discover://"+s.Addr+"?tls=false")
	servertest.Append(t, c, "s", esdb.NoStream{}, "a")
	version, err := c.GetServerVersion()
	if err != nil || version.Major != 23 {
		t.Fatalf("version %+v, %v", version, err)
	}
}

func TestGossipOfWildcardListener(t *testing.T) {
	t.Parallel()
	s, err := embedded.Open(embedded.Config{Dir: "store", FS: vfs.NewMem()})
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
	info, err := gossip.NewGossipClient(conn).Read(servertest.Context(t), &shared.Empty{})
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

// TestSupportedMethods checks that exactly the methods that a server has are listed, with their features.
func TestSupportedMethods(t *testing.T) {
	t.Parallel()
	listed, err := (&discovery.Features{}).GetSupportedMethods(t.Context(), &shared.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	methods := map[string][]string{}
	for _, m := range listed.GetMethods() {
		methods[m.GetServiceName()+"/"+m.GetMethodName()] = m.GetFeatures()
	}
	want := map[string][]string{}
	for _, service := range []grpc.ServiceDesc{
		streams.Streams_ServiceDesc, gossip.Gossip_ServiceDesc, serverfeatures.ServerFeatures_ServiceDesc,
	} {
		for _, m := range service.Methods {
			want[strings.ToLower(service.ServiceName+"/"+m.MethodName)] = nil
		}
		for _, m := range service.Streams {
			want[strings.ToLower(service.ServiceName+"/"+m.StreamName)] = nil
		}
	}
	want["event_store.client.streams.streams/read"] = []string{"position", "events"}
	want["event_store.client.streams.streams/batchappend"] = []string{"deadline_duration"}
	if fmt.Sprint(methods) != fmt.Sprint(want) {
		t.Errorf("methods %v, want %v", methods, want)
	}
}

// TestGossip checks the address that clients are told.
func TestGossip(t *testing.T) {
	t.Parallel()
	anywhere := &net.TCPAddr{IP: net.IPv4zero, Port: 1}
	local := peer.NewContext(t.Context(), &peer.Peer{LocalAddr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 2}})
	for name, tc := range map[string]struct {
		from context.Context //nolint:containedctx // of a call
		addr net.Addr
		want string
	}{
		"its address":          {local, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 3}, "127.0.0.1 3"},
		"that of the client":   {local, anywhere, "10.0.0.1 2"},
		"no client":            {t.Context(), anywhere, "0.0.0.0 1"},
		"no port":              {local, &net.UnixAddr{Name: "memory"}, "memory 0"},
		"a port out of bounds": {local, &net.UnixAddr{Name: "host:99999"}, "host:99999 0"},
	} {
		info, err := (&discovery.Gossip{Addr: tc.addr}).Read(tc.from, &shared.Empty{})
		if err != nil || len(info.GetMembers()) != 1 {
			t.Fatalf("%s: %v, %v", name, info, err)
		}
		at := info.GetMembers()[0].GetHttpEndPoint()
		if got := fmt.Sprint(at.GetAddress(), " ", at.GetPort()); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
