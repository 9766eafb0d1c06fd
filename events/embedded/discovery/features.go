// Package discovery tells clients which calls are served, and which node of the
// cluster of one to call.
package discovery

import (
	"context"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/gossip"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/serverfeatures"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"google.golang.org/grpc/peer"

	"linkledger/events/embedded/record"
	"linkledger/events/embedded/wire"
)

// serverVersion is the version whose behaviour is served. Clients require three
// plain numbers.
const serverVersion = "23.10.6"

// Features serves the service ServerFeatures.
type Features struct {
	serverfeatures.UnimplementedServerFeaturesServer
}

// GetSupportedMethods advertises what is registered and nothing else, in lower
// case as clients compare it.
func (*Features) GetSupportedMethods(
	context.Context, *shared.Empty,
) (*serverfeatures.SupportedMethods, error) {
	features := map[string][]string{
		"read":        {"position", "events"},
		"batchappend": {"deadline_duration"},
	}
	methods := []*serverfeatures.SupportedMethod{
		{MethodName: "read", ServiceName: strings.ToLower(gossip.Gossip_ServiceDesc.ServiceName)},
		{
			MethodName:  "getsupportedmethods",
			ServiceName: strings.ToLower(serverfeatures.ServerFeatures_ServiceDesc.ServiceName),
		},
	}
	for _, name := range []string{"read", "append", "delete", "tombstone", "batchappend"} {
		methods = append(methods, &serverfeatures.SupportedMethod{
			MethodName:  name,
			ServiceName: strings.ToLower(streams.Streams_ServiceDesc.ServiceName),
			Features:    features[name],
		})
	}
	return &serverfeatures.SupportedMethods{
		Methods: methods, EventStoreServerVersion: serverVersion,
	}, nil
}

// Gossip serves the service Gossip.
type Gossip struct {
	gossip.UnimplementedGossipServer

	Instance uuid.UUID
	Addr     net.Addr
}

// Read describes a cluster of one, its leader.
func (g *Gossip) Read(ctx context.Context, _ *shared.Empty) (*gossip.ClusterInfo, error) {
	return &gossip.ClusterInfo{Members: []*gossip.MemberInfo{{
		InstanceId:   wire.UUID(g.Instance, false),
		TimeStamp:    record.Ticks(time.Now()),
		State:        gossip.MemberInfo_Leader,
		IsAlive:      true,
		HttpEndPoint: g.endpoint(ctx),
	}}}, nil
}

// endpoint is where this node can be reached. A listener on all addresses has
// none of its own that a client could dial; then it is the one that this client
// has reached.
func (g *Gossip) endpoint(ctx context.Context) *gossip.EndPoint {
	addr := g.Addr
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		if p, ok := peer.FromContext(ctx); ok && p.LocalAddr != nil {
			addr = p.LocalAddr
		}
	}
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return &gossip.EndPoint{Address: addr.String()}
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return &gossip.EndPoint{Address: addr.String()}
	}
	return &gossip.EndPoint{Address: host, Port: uint32(n)}
}
