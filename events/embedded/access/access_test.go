package access

import (
	"bytes"
	"context"
	"encoding/base64"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"linkledger/events/embedded/embeddedtest"
)

// TestRefusalsAreLogged checks that refused calls are logged at most once a second.
func TestRefusalsAreLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		a := New("linker", "secret", slog.New(slog.NewTextHandler(&log, nil)))
		ctx := peer.NewContext(
			context.Background(), &peer.Peer{Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 4711}},
		)
		for range 5 {
			for range 100 {
				if err := a.check(ctx, streams.Streams_Read_FullMethodName); err == nil {
					t.Error("the call was accepted")
				}
			}
			<-time.After(refusalLogInterval)
		}
		if lines := strings.Count(log.String(), "client=192.0.2.1:4711"); lines != 5 {
			t.Errorf("%d lines, want 5:\n%s", lines, log.String())
		}
	})
}

// TestCheckIsClosedByDefault checks that check refuses odd paths by itself, whether grpc accepts
// them or not.
func TestCheckIsClosedByDefault(t *testing.T) {
	t.Parallel()
	a := New("linker", "secret", slog.New(slog.DiscardHandler))
	for _, method := range []string{"Read", "Append", "Delete", "Tombstone", "BatchAppend"} {
		for name, path := range embeddedtest.OddPaths(method) {
			if err := a.check(context.Background(), path); status.Code(err) != codes.Unauthenticated {
				t.Errorf("%s, %s: %v", method, name, err)
			}
		}
	}
	for path := range openMethods {
		if err := a.check(context.Background(), path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		for _, odd := range []string{path[1:], "/" + path, path + "/", strings.ToLower(path), path + "x", " " + path} {
			if err := a.check(context.Background(), odd); err == nil {
				t.Errorf("%s is accepted", odd)
			}
		}
	}
	login := base64.StdEncoding.EncodeToString([]byte("linker:secret"))
	for header, want := range map[string]codes.Code{
		"Basic " + login: codes.OK, "basic " + login: codes.OK, login: codes.Unauthenticated,
		"Bearer " + login: codes.Unauthenticated,
		"Basic  " + login: codes.Unauthenticated, "Basic " + login + "x": codes.Unauthenticated,
		"Basic": codes.Unauthenticated, "": codes.Unauthenticated,
	} {
		ctx := metadata.NewIncomingContext(context.Background(), metadata.Pairs("authorization", header))
		if got := status.Code(a.check(ctx, streams.Streams_Read_FullMethodName)); got != want {
			t.Errorf("%q: %s, want %s", header, got, want)
		}
	}
}
