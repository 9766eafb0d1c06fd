// Package access requires a user name and a password of the callers of gRPC services.
package access

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/gossip"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/serverfeatures"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// openMethods are the methods that need no credentials, because clients call them before they log
// in. Their requests are empty. Every other method needs credentials, even an unknown one.
var openMethods = map[string]bool{
	gossip.Gossip_Read_FullMethodName:                                true,
	serverfeatures.ServerFeatures_GetSupportedMethods_FullMethodName: true,
}

// refusalLogInterval is the minimum time between two log lines about refused calls.
const refusalLogInterval = time.Second

var errUnauthenticated = status.Error(
	codes.Unauthenticated, "wrong or missing user name and password",
)

// Access requires the name and the password of one user. It wraps the registered handlers, so
// different spellings of a path cannot bypass it. It does not read the message of a refused call.
type Access struct {
	digest [sha256.Size]byte
	log    *slog.Logger
	logged atomic.Int64 // time of the last logged refusal, in nanoseconds
}

// New returns an Access for one user.
func New(user, password string, log *slog.Logger) *Access {
	return &Access{digest: sha256.Sum256([]byte(user + ":" + password)), log: log}
}

// check returns an error if the method needs credentials and the call does not have them.
func (a *Access) check(ctx context.Context, method string) error {
	if openMethods[method] || a.hasCredentials(ctx) {
		return nil
	}
	a.logRefusal(ctx)
	return errUnauthenticated
}

// hasCredentials reports whether a call has the right credentials.
func (a *Access) hasCredentials(ctx context.Context) bool {
	for _, header := range metadata.ValueFromIncomingContext(ctx, "authorization") {
		scheme, encoded, _ := strings.Cut(header, " ")
		given, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || !strings.EqualFold(scheme, "Basic") {
			continue
		}
		// All digests have the same length, so the time of the comparison reveals nothing about the
		// password.
		if digest := sha256.Sum256(given); subtle.ConstantTimeCompare(digest[:], a.digest[:]) == 1 {
			return true
		}
	}
	return false
}

// logRefusal logs where a refused call comes from, at most once a second.
func (a *Access) logRefusal(ctx context.Context) {
	now, last := time.Now().UnixNano(), a.logged.Load()
	if now-last < int64(refusalLogInterval) || !a.logged.CompareAndSwap(last, now) {
		return
	}
	from := ""
	if client, ok := peer.FromContext(ctx); ok {
		from = client.Addr.String()
	}
	a.log.LogAttrs(
		ctx, slog.LevelWarn, "a call without the right user name and password was refused",
		slog.String("client", from),
	)
}

// guardedRegistrar registers services so that their methods require credentials.
type guardedRegistrar struct {
	server *grpc.Server
	access *Access
}

var _ grpc.ServiceRegistrar = guardedRegistrar{}

// Guard returns a registrar that registers services with server so that their methods require
// credentials.
func (a *Access) Guard(
	server *grpc.Server,
) grpc.ServiceRegistrar {
	return guardedRegistrar{server, a}
}

// RegisterService implements grpc.ServiceRegistrar.
func (g guardedRegistrar) RegisterService(desc *grpc.ServiceDesc, service any) {
	closed := *desc
	closed.Methods, closed.Streams = nil, nil
	for _, m := range desc.Methods {
		m.Handler = g.access.unary("/"+desc.ServiceName+"/"+m.MethodName, m.Handler)
		closed.Methods = append(closed.Methods, m)
	}
	for _, s := range desc.Streams {
		s.Handler = g.access.stream("/"+desc.ServiceName+"/"+s.StreamName, s.Handler)
		closed.Streams = append(closed.Streams, s)
	}
	g.server.RegisterService(&closed, service)
}

func (a *Access) unary(method string, next grpc.MethodHandler) grpc.MethodHandler {
	return func(
		service any, ctx context.Context, read func(any) error,
		interceptor grpc.UnaryServerInterceptor,
	) (any, error) {
		if err := a.check(ctx, method); err != nil {
			return nil, err
		}
		// A client without credentials may call an open method. Its message is not read, so that
		// the client cannot make the server use memory.
		if openMethods[method] && !a.hasCredentials(ctx) {
			read = func(any) error { return nil }
		}
		return next(service, ctx, read, interceptor)
	}
}

func (a *Access) stream(method string, next grpc.StreamHandler) grpc.StreamHandler {
	return func(service any, call grpc.ServerStream) error {
		if err := a.check(call.Context(), method); err != nil {
			return err
		}
		return next(service, call)
	}
}

// Unknown answers calls of methods that do not exist. It returns Unimplemented only to a client
// with credentials, so that other clients cannot find out which methods exist.
func (a *Access) Unknown(_ any, call grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(call)
	if err := a.check(call.Context(), method); err != nil {
		return err
	}
	return status.Error(codes.Unimplemented, "the event store has no such method")
}
