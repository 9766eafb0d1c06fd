package wire_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventlog"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/events/eventstore/wire"
)

// TestOpen reads from a real event store. It checks which events each kind of read returns.
func TestOpen(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	store := eventstoretest.Open(t, server.URL())
	var positions []eventstore.Position
	for _, stream := range []string{"tags-a", "tags-b", "other-c"} {
		appended, err := store.Append(
			t.Context(), eventstoretest.TagWrite(stream, eventstore.NoStream, uuid.New(), "x", "y"),
		)
		if err != nil {
			t.Fatal(err)
		}
		positions = append(positions, appended.Position)
	}
	conn, err := grpc.NewClient(server.Address(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	from := func(at eventstore.Position, streams, types []string) *streams.ReadReq_Options {
		return wire.SelectedFrom(at, eventlog.Filter{Streams: streams, Types: types}, 9)
	}
	for name, tc := range map[string]struct {
		options *streams.ReadReq_Options
		want    string
	}{
		"stream":                  {wire.EventsOf("tags-a", 0, 9), "tags-a 0, tags-a 1, "},
		"stream from a revision":  {wire.EventsOf("tags-a", 1, 9), "tags-a 1, "},
		"one event of a stream":   {wire.EventsOf("tags-a", 0, 1), "tags-a 0, "},
		"last event of a stream":  {wire.LastOf("tags-b"), "tags-b 1, "},
		"last event of the log":   {wire.LastOfLog(), "other-c 1, "},
		"event at a position":     {wire.EventAt(positions[1]), "tags-b 1, "},
		"streams by their prefix": {from(positions[0], []string{"other-"}, nil), "other-c 0, other-c 1, "},
		"types that do not exist": {from(eventstore.Position{}, nil, []string{"none."}), ""},
		"all from a position":     {from(positions[1], nil, nil), "tags-b 1, other-c 0, other-c 1, "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read, err := wire.Open(t.Context(), conn, tc.options)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for {
				answer, err := read.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if answer.IsEvent {
					got = fmt.Sprint(got, answer.Event.Stream, " ", answer.Event.Revision, ", ")
				}
			}
			if got != tc.want {
				t.Errorf("the read returns %q, want %q", got, tc.want)
			}
		})
	}
}
