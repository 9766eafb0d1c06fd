// Package control serves the protocols of the program without doing its work. Measurements compare
// the program with it. Package control MUST NOT import the program.
package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/uptrace/bunrouter"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"linkledger/cmd/linkledger-bench/internal/child"
)

// ready matches the line that Serve prints with its addresses.
var ready = regexp.MustCompile(`control is ready: (\S+) (\S+)`)

// Serve serves the control on two free ports of this machine until ctx ends. It prints its
// addresses when it is ready.
func Serve(ctx context.Context, stdout io.Writer) error {
	var listen net.ListenConfig
	web, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	calls, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, web.Close())
	}
	server := &http.Server{Handler: bareRoutes(), ReadHeaderTimeout: time.Minute}
	store := grpc.NewServer()
	streams.RegisterStreamsServer(store, bareStore{})
	defer context.AfterFunc(ctx, func() {
		_ = server.Close() // nothing is lost here
		store.Stop()
	})()
	var serving errgroup.Group
	serving.Go(func() error {
		if err := server.Serve(web); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	serving.Go(func() error { return store.Serve(calls) })
	_, err = fmt.Fprintf(stdout, "control is ready: %s %s\n", web.Addr(), calls.Addr())
	return errors.Join(err, serving.Wait())
}

// bareRoutes answers the requests of the measurements without Linkledger's work: it redirects every
// path to a constant URL, and echoes what is posted.
func bareRoutes() http.Handler {
	router := bunrouter.New()
	router.GET("/:hash", func(w http.ResponseWriter, _ bunrouter.Request) error {
		w.Header().Set("Location", "https://example.com/some/path?with=query")
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(http.StatusFound)
		return nil
	})
	router.POST("/v3/urls", func(w http.ResponseWriter, r bunrouter.Request) error {
		_, err := io.Copy(w, r.Body)
		return err
	})
	return router
}

// bareStore answers appends without storing anything. It shows what an append costs without a
// store.
type bareStore struct {
	streams.UnimplementedStreamsServer
}

// BatchAppend implements the call that the program uses for all appends.
func (bareStore) BatchAppend(call streams.Streams_BatchAppendServer) error {
	done := &streams.BatchAppendResp_Success_{Success: &streams.BatchAppendResp_Success{
		PositionOption: &streams.BatchAppendResp_Success_Position{
			Position: &shared.AllStreamPosition{CommitPosition: 1, PreparePosition: 1},
		},
	}}
	for {
		request, err := call.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := call.Send(
			&streams.BatchAppendResp{CorrelationId: request.GetCorrelationId(), Result: done},
		); err != nil {
			return err
		}
	}
}

// Control is a running control process. It is a process of its own because the measured program is
// one too.
type Control struct {
	*child.Process

	Web   string // base URL
	Store string // connection string
}

// Start runs a program whose command control calls Serve, and returns when it is ready.
func Start(ctx context.Context, program string) (*Control, error) {
	c, err := child.Start(ctx, "control is ready", program, "control")
	if err != nil {
		return nil, err
	}
	addresses := ready.FindStringSubmatch(c.Greeting)
	return &Control{
		Process: c, Web: "http://" + addresses[1], Store: "esdb://" + addresses[2] + "?tls=false",
	}, nil
}
