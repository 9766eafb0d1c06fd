package embedded

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"strings"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// access demands one user's name and password for every call to Streams. Server
// features and gossip stay open: clients ask them before they log in.
type access struct{ digest [sha256.Size]byte }

func newAccess(user, password string) *access {
	return &access{sha256.Sum256([]byte(user + ":" + password))}
}

// securityOptions returns what protects the server, if anything does.
func (c Config) securityOptions() []grpc.ServerOption {
	var opts []grpc.ServerOption
	if c.TLS != nil {
		opts = append(opts, grpc.Creds(credentials.NewTLS(c.TLS)))
	}
	if c.User != "" {
		a := newAccess(c.User, c.Password)
		opts = append(opts, grpc.UnaryInterceptor(a.unary), grpc.StreamInterceptor(a.stream))
	}
	return opts
}

func (a *access) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if err := a.check(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	return next(ctx, req)
}

func (a *access) stream(srv any, call grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if err := a.check(call.Context(), info.FullMethod); err != nil {
		return err
	}
	return next(srv, call)
}

func (a *access) check(ctx context.Context, method string) error {
	if !strings.HasPrefix(method, "/"+streams.Streams_ServiceDesc.ServiceName+"/") {
		return nil
	}
	md, _ := metadata.FromIncomingContext(ctx)
	for _, header := range md.Get("authorization") {
		scheme, encoded, _ := strings.Cut(header, " ")
		given, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || !strings.EqualFold(scheme, "Basic") {
			continue
		}
		// Digests have one length, so the time tells nothing of the password.
		if digest := sha256.Sum256(given); subtle.ConstantTimeCompare(digest[:], a.digest[:]) == 1 {
			return nil
		}
	}
	return status.Error(codes.Unauthenticated, "wrong or missing user name and password")
}
