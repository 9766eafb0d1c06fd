// Package discovery serves the calls with which clients find out which methods the server has and
// which node of the cluster to call. The cluster has one node.
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

// serverVersion is the version of EventStoreDB whose behavior the store follows. Clients require
// three plain numbers.
const serverVersion = "23.10.6"

// Features implements the service ServerFeatures.
type Features struct {
	serverfeatures.UnimplementedServerFeaturesServer
}

// GetSupportedMethods returns exactly the registered methods, in lower case because clients compare
// them so.
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

// Gossip implements the service Gossip.
type Gossip struct {
	gossip.UnimplementedGossipServer

	Instance uuid.UUID
	Addr     net.Addr
}

// Read returns the only member of the cluster, as its leader.
func (g *Gossip) Read(ctx context.Context, _ *shared.Empty) (*gossip.ClusterInfo, error) {
	return &gossip.ClusterInfo{Members: []*gossip.MemberInfo{{
		InstanceId:   wire.UUID(g.Instance, false),
		TimeStamp:    record.Ticks(time.Now()),
		State:        gossip.MemberInfo_Leader,
		IsAlive:      true,
		HttpEndPoint: g.endpoint(ctx),
	}}}, nil
}

// endpoint returns the address of this node. If the listener has the unspecified address, which a
// client cannot dial, it returns the local address of the client's connection.
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
