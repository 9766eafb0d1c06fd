package embedded

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/gossip"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/serverfeatures"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	"linkledger/events/embedded/access"
	"linkledger/events/embedded/discovery"
	"linkledger/events/embedded/http1"
	"linkledger/events/embedded/reads"
	"linkledger/events/embedded/wire"
	"linkledger/events/embedded/writes"
)

const (
	maxMessage     = 16<<20 - 10_000
	maxConcurrent  = 100_000 // calls and subscriptions of one connection
	callWorkers    = 128
	keepaliveEvery = 10 * time.Second

	// maxHeaders bounds the header of one call in bytes. The server reads it before it can check
	// the credentials.
	maxHeaders       = 64 << 10
	handshakeTimeout = 20 * time.Second
	// memoryBuffer is the size in bytes of each direction of a connection in memory.
	memoryBuffer = 64 << 10
	// receiveWindow is how many bytes a client may send ahead of the server's reads. A larger
	// window does not make a connection take more memory.
	receiveWindow = 1 << 20
)

// newServer returns a server that advertises addr. If secure is true, the fields TLS, User and
// Password of Config apply to the server.
func (s *Store) newServer(addr net.Addr, secure bool) *grpc.Server {
	opts := []grpc.ServerOption{
		grpc.ForceServerCodecV2(wire.NewCodec()),
		grpc.MaxRecvMsgSize(maxMessage),
		grpc.MaxHeaderListSize(maxHeaders),
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.MaxConcurrentStreams(maxConcurrent),
		// Clients ping every ten seconds, even without an open call. The default policy treats that
		// as abuse and closes the connection.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
			MinTime: keepaliveEvery / 2, PermitWithoutStream: true,
		}),
		grpc.KeepaliveParams(
			keepalive.ServerParameters{Time: keepaliveEvery, Timeout: keepaliveEvery},
		),
		// With the default window, a large append over a slow network waits one round trip for each
		// window update.
		grpc.InitialWindowSize(receiveWindow),
		grpc.InitialConnWindowSize(receiveWindow),
		// Handlers use Pebble, so the server must wait for them before Pebble is closed.
		grpc.WaitForHandlers(true),
		// Reused goroutines have already grown their stacks, which saves a tenth of the time of an
		// append. If callWorkers calls are running, further calls get goroutines of their own.
		grpc.NumStreamWorkers(callWorkers),
	}
	switch {
	case secure && s.cfg.TLS != nil:
		both := s.cfg.TLS.Clone()
		both.NextProtos = []string{"h2", http1.ProtocolName}
		opts = append(opts, grpc.Creds(http1.NewCredentials(credentials.NewTLS(both), maxHeaders)))
	case secure:
		opts = append(opts, grpc.Creds(http1.NewCredentials(insecure.NewCredentials(), maxHeaders)))
	}
	if !secure || s.cfg.User == "" {
		server := grpc.NewServer(opts...)
		s.register(server, addr)
		return server
	}
	a := access.New(s.cfg.User, s.cfg.Password, s.cfg.Logger)
	server := grpc.NewServer(append(opts, grpc.UnknownServiceHandler(a.Unknown))...)
	s.register(a.Guard(server), addr)
	return server
}

func (s *Store) register(server grpc.ServiceRegistrar, addr net.Addr) {
	streams.RegisterStreamsServer(server, &streamsService{writes: s.writes, reads: s.reads})
	gossip.RegisterGossipServer(server, &discovery.Gossip{Instance: s.instance, Addr: addr})
	serverfeatures.RegisterServerFeaturesServer(server, &discovery.Features{})
}

// streamsService serves the Streams RPCs.
type streamsService struct {
	streams.UnimplementedStreamsServer

	writes *writes.Service
	reads  *reads.Service
}

// Append writes events to the end of one stream, all or none.
func (s *streamsService) Append(call streams.Streams_AppendServer) error {
	return s.writes.Append(call)
}

// BatchAppend serves many appends on one call.
func (s *streamsService) BatchAppend(call streams.Streams_BatchAppendServer) error {
	return s.writes.BatchAppend(call)
}

// Delete hides the events of a stream. Later writes to the stream are accepted.
func (s *streamsService) Delete(
	ctx context.Context, req *streams.DeleteReq,
) (*streams.DeleteResp, error) {
	return s.writes.Delete(ctx, req)
}

// Tombstone deletes a stream permanently.
func (s *streamsService) Tombstone(
	ctx context.Context, req *streams.TombstoneReq,
) (*streams.TombstoneResp, error) {
	return s.writes.Tombstone(ctx, req)
}

// Read serves reads and subscriptions. Its response has the header date, as in EventStoreDB.
func (s *streamsService) Read(req *streams.ReadReq, call streams.Streams_ReadServer) error {
	now := time.Now().UTC().Format(http.TimeFormat)
	if err := call.SetHeader(metadata.Pairs("date", now)); err != nil {
		return err
	}
	return s.reads.Read(req, call)
}
