package writes_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"linkledger/events/embedded/servertest"
	"linkledger/events/embedded/wire"
)

func rawMetadata(t *testing.T, c *esdb.Client, stream string) map[string]any {
	t.Helper()
	got, err := servertest.ReadStream(t, c, "$$"+stream, esdb.ReadStreamOptions{From: esdb.Start{}})
	if err != nil || len(got) != 1 {
		t.Fatalf("metadata of %s: %d events, %v", stream, len(got), err)
	}
	var fields map[string]any
	if err := json.Unmarshal(got[0].Event.Data, &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

func TestSoftDeleteAndUndelete(t *testing.T) {
	t.Parallel()
	c := servertest.Dial(t, servertest.Open(t))
	servertest.Append(t, c, "s", esdb.NoStream{}, "a", "b")
	if err := servertest.Delete(t, c, "s", esdb.Revision(1)); err != nil {
		t.Fatal(err)
	}
	_, err := servertest.ReadStream(t, c, "s", esdb.ReadStreamOptions{From: esdb.Start{}})
	servertest.WantCode(t, err, esdb.ErrorCodeResourceNotFound)
	if err := servertest.Delete(t, c, "s", esdb.Any{}); err != nil {
		t.Fatalf("second delete: %v", err)
	}
	res := servertest.Append(t, c, "s", esdb.NoStream{}, "c", "d")
	if res.NextExpectedVersion != 3 {
		t.Fatalf("revision %d, want 3", res.NextExpectedVersion)
	}
	got, err := servertest.ReadStream(t, c, "s", esdb.ReadStreamOptions{From: esdb.Start{}})
	if err != nil {
		t.Fatal(err)
	}
	servertest.WantNames(t, got, "c", "d")
	if meta := rawMetadata(t, c, "s"); meta["$tb"] != 2.0 {
		t.Fatalf("metadata %v, want $tb 2", meta)
	}
	var inAll []string
	for _, ev := range servertest.ReadAll(t, c, esdb.ReadAllOptions{From: esdb.Start{}}) {
		if ev.Event.StreamID == "s" {
			inAll = append(inAll, servertest.Names([]*esdb.ResolvedEvent{ev})...)
		}
	}
	if !slices.Equal(inAll, []string{"a", "b", "c", "d"}) {
		t.Fatalf("$all holds %v, want the deleted events too", inAll)
	}
}

func TestUndeleteByMetadataKeepsIt(t *testing.T) {
	t.Parallel()
	c := servertest.Dial(t, servertest.Open(t))
	servertest.Append(t, c, "s", esdb.NoStream{}, "a", "b")
	if err := servertest.Delete(t, c, "s", esdb.StreamExists{}); err != nil {
		t.Fatal(err)
	}
	meta := esdb.StreamMetadata{}
	meta.SetMaxCount(7)
	meta.AddCustomProperty("owner", "me")
	if _, err := c.SetStreamMetadata(servertest.Context(t), "s", esdb.AppendToStreamOptions{}, meta); err != nil {
		t.Fatal(err)
	}
	got := rawMetadata(t, c, "s")
	if got["$tb"] != 2.0 || got["$maxCount"] != 7.0 || got["owner"] != "me" {
		t.Fatalf("metadata %v, want the client's with $tb 2", got)
	}
	list, err := servertest.ReadStream(t, c, "s", esdb.ReadStreamOptions{From: esdb.Start{}})
	if err != nil || len(list) != 0 {
		t.Fatalf("%v, %v; want an empty stream", servertest.Names(list), err)
	}
}

func TestUndeleteKeepsAddedMetadata(t *testing.T) {
	t.Parallel()
	c := servertest.Dial(t, servertest.Open(t))
	servertest.Append(t, c, "s", esdb.NoStream{}, "a")
	ev := servertest.Event("meta")
	ev.Data = []byte(`{"$tb":9223372036854775807,"note":"<kept>"}`)
	if _, err := c.AppendToStream(servertest.Context(t), "$$s", esdb.AppendToStreamOptions{}, ev); err != nil {
		t.Fatal(err)
	}
	servertest.Append(t, c, "s", esdb.Revision(0), "b")
	if got := rawMetadata(t, c, "s"); got["$tb"] != 1.0 || got["note"] != "<kept>" {
		t.Fatalf("metadata %v", got)
	}
}

func TestDeleteRefusals(t *testing.T) {
	t.Parallel()
	s := servertest.Open(t)
	c, raw := servertest.Dial(t, s), servertest.DialRaw(t, s)
	servertest.Append(t, c, "live", esdb.NoStream{}, "a")
	servertest.Append(t, c, "soft", esdb.NoStream{}, "a")
	if err := servertest.Delete(t, c, "soft", esdb.Any{}); err != nil {
		t.Fatal(err)
	}
	servertest.WantCode(t, servertest.Delete(t, c, "soft", esdb.StreamExists{}), esdb.ErrorCodeStreamDeleted)
	for _, tc := range []struct{ stream, expected, actual string }{
		{"missing", "-2", "-1"}, {"live", "5", "0"},
	} {
		req := &streams.DeleteReq{Options: &streams.DeleteReq_Options{
			StreamIdentifier:       wire.StreamIdentifier(tc.stream),
			ExpectedStreamRevision: &streams.DeleteReq_Options_Any{Any: &shared.Empty{}},
		}}
		if tc.expected == "5" {
			req.Options.ExpectedStreamRevision = &streams.DeleteReq_Options_Revision{Revision: 5}
		}
		var trailers metadata.MD
		_, err := raw.Delete(servertest.Context(t), req, grpc.Trailer(&trailers))
		if status.Code(err) != codes.FailedPrecondition {
			t.Fatalf("%s: %v, want FailedPrecondition", tc.stream, err)
		}
		for key, want := range map[string]string{
			"exception": "wrong-expected-version", "stream-name": tc.stream,
			"expected-version": tc.expected, "actual-version": tc.actual,
		} {
			if got := trailers.Get(key); len(got) != 1 || got[0] != want {
				t.Errorf("%s: trailer %s is %v, want %s", tc.stream, key, got, want)
			}
		}
	}
	for _, stream := range []string{"$$live", "$all"} {
		servertest.WantCode(t, servertest.Delete(t, c, stream, esdb.Any{}), esdb.ErrorCodeAccessDenied)
	}
}

func TestTombstone(t *testing.T) {
	t.Parallel()
	c := servertest.Dial(t, servertest.Open(t))
	servertest.Append(t, c, "s", esdb.NoStream{}, "a")
	for _, stream := range []string{"s", "never written"} {
		res, err := c.TombstoneStream(servertest.Context(t), stream, esdb.TombstoneStreamOptions{ExpectedRevision: esdb.Any{}})
		if err != nil {
			t.Fatalf("%s: %v", stream, err)
		}
		last := servertest.ReadAll(t, c, esdb.ReadAllOptions{From: esdb.End{}, Direction: esdb.Backwards})[0].Event
		if last.EventType != "$streamDeleted" || last.EventNumber != 1<<63-1 || last.Position != res.Position ||
			last.StreamID != stream {
			t.Fatalf("%s: last event is %+v", stream, last)
		}
		_, err = c.TombstoneStream(servertest.Context(t), stream, esdb.TombstoneStreamOptions{ExpectedRevision: esdb.Any{}})
		servertest.WantCode(t, err, esdb.ErrorCodeStreamDeleted)
		servertest.WantCode(t, servertest.Delete(t, c, stream, esdb.Any{}), esdb.ErrorCodeStreamDeleted)
		for _, name := range []string{stream, "$$" + stream} {
			_, err = c.AppendToStream(servertest.Context(t), name, esdb.AppendToStreamOptions{}, servertest.Event("x"))
			servertest.WantCode(t, err, esdb.ErrorCodeStreamDeleted)
			_, err = servertest.ReadStream(t, c, name, esdb.ReadStreamOptions{From: esdb.Start{}})
			servertest.WantCode(t, err, esdb.ErrorCodeStreamDeleted)
		}
		_, err = c.SubscribeToStream(servertest.Context(t), stream, esdb.SubscribeToStreamOptions{From: esdb.Start{}})
		if err == nil {
			t.Fatalf("%s: subscribed to a tombstoned stream", stream)
		}
	}
}
