// Package node connects to the node of an event store that accepts writes, and repeats operations
// during an outage.
package node

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/gossip"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"linkledger/events/eventstore/eventlog"
)

var errURL = errors.New("it is not valid, and not shown because it may contain a password: " +
	"write it as esdb://USER:PASSWORD@HOST:2113?tls=true, with every character of the password " +
	"that is neither a letter nor a digit as %XX")

// ParseURL parses a connection string. The errors of the official parser may quote parts of the
// string, and so of the password. ParseURL therefore returns only those errors that name a setting
// or a file.
func ParseURL(text string) (*esdb.Configuration, error) {
	config, err := esdb.ParseConnectionString(text)
	if file, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, file
	}
	// Such an error names a setting and not its value.
	if err != nil && strings.HasPrefix(err.Error(), "Setting '") {
		return nil, err
	}
	if err != nil {
		return nil, errURL
	}
	return config, nil
}

// maxMessage is the largest accepted message, as in the official client.
const maxMessage = 17 << 20 // bytes

// Node is the node that accepts writes: the one that inside connects to, the one that the
// connection string names, or the leader that the gossip of a cluster names.
type Node struct {
	config *esdb.Configuration
	inside func(context.Context) (net.Conn, error) // dials the node without the network, or nil
}

// New returns the node of a connection string. If inside is not nil, connections to the node are
// made by inside and not over the network.
func New(config *esdb.Configuration, inside func(context.Context) (net.Conn, error)) Node {
	return Node{config: config, inside: inside}
}

// Connect returns a connection, ErrUnavailable or ErrDenied. The first call over the connection
// establishes it.
func (n Node) Connect(ctx context.Context) (*grpc.ClientConn, error) {
	conn, err := n.open(ctx)
	if err != nil {
		return nil, eventlog.Classify(err, nil)
	}
	return conn, nil
}

func (n Node) open(ctx context.Context) (*grpc.ClientConn, error) {
	config := n.config
	if n.inside != nil {
		inside := func(ctx context.Context, _ string) (net.Conn, error) { return n.inside(ctx) }
		return dial(config, config.Address, grpc.WithContextDialer(inside))
	}
	if !config.DnsDiscover && len(config.GossipSeeds) == 0 {
		return dial(config, config.Address)
	}
	seeds := []string{config.Address}
	if len(config.GossipSeeds) > 0 {
		seeds = seeds[:0]
		for _, seed := range config.GossipSeeds {
			seeds = append(seeds, seed.String())
		}
	}
	// The order is random. In a fixed order, a seed that comes first, accepts connections and never
	// answers would prevent all other seeds from being asked.
	//nolint:gosec // needs no secrecy
	rand.Shuffle(len(seeds), func(i, j int) { seeds[i], seeds[j] = seeds[j], seeds[i] })
	var failures []error
	for _, seed := range seeds {
		leader, err := askForLeader(ctx, config, seed)
		if err == nil {
			return dial(config, leader)
		}
		failures = append(failures, fmt.Errorf("ask %s for the leader: %w", seed, err))
	}
	return nil, errors.Join(failures...)
}

var errNoLeader = errors.New("the cluster currently has no leader")

// askForLeader returns the address of the leader according to the gossip of one node.
func askForLeader(
	ctx context.Context, config *esdb.Configuration, seed string,
) (leader string, err error) {
	conn, err := dial(config, seed)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	ctx, cancel := context.WithTimeout(ctx, time.Duration(config.GossipTimeout)*time.Second)
	defer cancel()
	info, err := gossip.NewGossipClient(conn).Read(ctx, &shared.Empty{})
	if err != nil {
		return "", err
	}
	for _, member := range info.GetMembers() {
		if member.GetIsAlive() && member.GetState() == gossip.MemberInfo_Leader {
			at := member.GetHttpEndPoint()
			return net.JoinHostPort(
				at.GetAddress(), strconv.FormatUint(uint64(at.GetPort()), 10),
			), nil
		}
	}
	return "", errNoLeader
}

func dial(
	config *esdb.Configuration, address string, options ...grpc.DialOption,
) (*grpc.ClientConn, error) {
	options = append(options,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
	)
	if config.KeepAliveInterval >= 0 {
		options = append(options, grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time: config.KeepAliveInterval, Timeout: config.KeepAliveTimeout,
			PermitWithoutStream: true,
		}))
	}
	if !config.DisableTLS {
		secure, err := tlsConfig(config)
		if err != nil {
			return nil, err
		}
		options = append(options, grpc.WithTransportCredentials(credentials.NewTLS(secure)))
		if config.Username != "" {
			options = append(
				options, grpc.WithPerRPCCredentials(basicAuth(config.Username+":"+config.Password)),
			)
		}
	}
	return grpc.NewClient(address, options...)
}

func tlsConfig(config *esdb.Configuration) (*tls.Config, error) {
	secure := &tls.Config{
		MinVersion: tls.VersionTLS12,
		RootCAs:    config.RootCAs,
		//nolint:gosec // tlsVerifyCert=false of the connection string
		InsecureSkipVerify: config.SkipCertificateVerification,
	}
	if config.UserCertFile != "" {
		certificate, err := tls.LoadX509KeyPair(config.UserCertFile, config.UserKeyFile)
		if err != nil {
			return nil, fmt.Errorf("user certificate of the event store: %w", err)
		}
		secure.Certificates = []tls.Certificate{certificate}
	}
	return secure, nil
}

// basicAuth is a user and password of the form user:password. gRPC sends them over TLS only.
type basicAuth string

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b basicAuth) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{
		"authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte(b)),
	}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (basicAuth) RequireTransportSecurity() bool { return true }
