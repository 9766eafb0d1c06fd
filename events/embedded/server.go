package embedded

import (
	"net"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/gossip"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/serverfeatures"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

const (
	maxMessage     = 16<<20 - 10_000
	maxConcurrent  = 100_000 // calls and subscriptions of one connection
	callWorkers    = 128
	keepaliveEvery = 10 * time.Second
)

// newServer returns a server that advertises addr.
func (s *Store) newServer(addr net.Addr) *grpc.Server {
	opts := append(s.cfg.securityOptions(),
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(maxMessage),
		grpc.MaxConcurrentStreams(maxConcurrent),
		// Clients ping every ten seconds, also without any open call. The
		// default policy would take that for abuse and end the connection.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
			MinTime: keepaliveEvery / 2, PermitWithoutStream: true,
		}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveEvery, Timeout: keepaliveEvery}),
		// Handlers use Pebble, which must not be closed under them.
		grpc.WaitForHandlers(true),
		// Goroutines that are kept have grown their stacks already, which is
		// worth a tenth of an append. Calls beyond their number get their own.
		grpc.NumStreamWorkers(callWorkers),
	)
	server := grpc.NewServer(opts...)
	streams.RegisterStreamsServer(server, &streamsService{store: s})
	gossip.RegisterGossipServer(server, &gossipService{instance: s.instance, addr: addr})
	serverfeatures.RegisterServerFeaturesServer(server, &featuresService{})
	return server
}

// streamsService serves the Streams RPCs.
type streamsService struct {
	streams.UnimplementedStreamsServer
	store *Store
}
