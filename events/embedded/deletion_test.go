package embedded

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

	"linkledger/events/embedded/wire"
)

func deleteStream(t *testing.T, c *esdb.Client, stream string, expected esdb.ExpectedRevision) error {
	t.Helper()
	_, err := c.DeleteStream(testContext(t), stream, esdb.DeleteStreamOptions{ExpectedRevision: expected})
	return err
}

func rawMetadata(t *testing.T, c *esdb.Client, stream string) map[string]any {
	t.Helper()
	got, err := readStream(t, c, "$$"+stream, esdb.ReadStreamOptions{From: esdb.Start{}})
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
	c := dial(t, open(t))
	appendTo(t, c, "s", esdb.NoStream{}, "a", "b")
	if err := deleteStream(t, c, "s", esdb.Revision(1)); err != nil {
		t.Fatal(err)
	}
	_, err := readStream(t, c, "s", esdb.ReadStreamOptions{From: esdb.Start{}})
	wantCode(t, err, esdb.ErrorCodeResourceNotFound)
	if err := deleteStream(t, c, "s", esdb.Any{}); err != nil {
		t.Fatalf("second delete: %v", err)
	}
	res := appendTo(t, c, "s", esdb.NoStream{}, "c", "d")
	if res.NextExpectedVersion != 3 {
		t.Fatalf("revision %d, want 3", res.NextExpectedVersion)
	}
	got, err := readStream(t, c, "s", esdb.ReadStreamOptions{From: esdb.Start{}})
	if err != nil {
		t.Fatal(err)
	}
	wantNames(t, got, "c", "d")
	if meta := rawMetadata(t, c, "s"); meta["$tb"] != 2.0 {
		t.Fatalf("metadata %v, want $tb 2", meta)
	}
	var inAll []string
	for _, ev := range readAll(t, c, esdb.ReadAllOptions{From: esdb.Start{}}) {
		if ev.Event.StreamID == "s" {
			inAll = append(inAll, names([]*esdb.ResolvedEvent{ev})...)
		}
	}
	if !slices.Equal(inAll, []string{"a", "b", "c", "d"}) {
		t.Fatalf("$all holds %v, want the deleted events too", inAll)
	}
}

func TestUndeleteByMetadataKeepsIt(t *testing.T) {
	t.Parallel()
	c := dial(t, open(t))
	appendTo(t, c, "s", esdb.NoStream{}, "a", "b")
	if err := deleteStream(t, c, "s", esdb.StreamExists{}); err != nil {
		t.Fatal(err)
	}
	meta := esdb.StreamMetadata{}
	meta.SetMaxCount(7)
	meta.AddCustomProperty("owner", "me")
	if _, err := c.SetStreamMetadata(testContext(t), "s", esdb.AppendToStreamOptions{}, meta); err != nil {
		t.Fatal(err)
	}
	got := rawMetadata(t, c, "s")
	if got["$tb"] != 2.0 || got["$maxCount"] != 7.0 || got["owner"] != "me" {
		t.Fatalf("metadata %v, want the client's with $tb 2", got)
	}
	list, err := readStream(t, c, "s", esdb.ReadStreamOptions{From: esdb.Start{}})
	if err != nil || len(list) != 0 {
		t.Fatalf("%v, %v; want an empty stream", names(list), err)
	}
}

func TestUndeleteKeepsAddedMetadata(t *testing.T) {
	t.Parallel()
	c := dial(t, open(t))
	appendTo(t, c, "s", esdb.NoStream{}, "a")
	ev := event("meta")
	ev.Data = []byte(`{"$tb":9223372036854775807,"note":"<kept>"}`)
	if _, err := c.AppendToStream(testContext(t), "$$s", esdb.AppendToStreamOptions{}, ev); err != nil {
		t.Fatal(err)
	}
	appendTo(t, c, "s", esdb.Revision(0), "b")
	if got := rawMetadata(t, c, "s"); got["$tb"] != 1.0 || got["note"] != "<kept>" {
		t.Fatalf("metadata %v", got)
	}
}

func TestDeleteRefusals(t *testing.T) {
	t.Parallel()
	s := open(t)
	c, raw := dial(t, s), dialRaw(t, s)
	appendTo(t, c, "live", esdb.NoStream{}, "a")
	appendTo(t, c, "soft", esdb.NoStream{}, "a")
	if err := deleteStream(t, c, "soft", esdb.Any{}); err != nil {
		t.Fatal(err)
	}
	wantCode(t, deleteStream(t, c, "soft", esdb.StreamExists{}), esdb.ErrorCodeStreamDeleted)
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
		_, err := raw.Delete(testContext(t), req, grpc.Trailer(&trailers))
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
		wantCode(t, deleteStream(t, c, stream, esdb.Any{}), esdb.ErrorCodeAccessDenied)
	}
}

func TestTombstone(t *testing.T) {
	t.Parallel()
	c := dial(t, open(t))
	appendTo(t, c, "s", esdb.NoStream{}, "a")
	for _, stream := range []string{"s", "never written"} {
		res, err := c.TombstoneStream(testContext(t), stream, esdb.TombstoneStreamOptions{ExpectedRevision: esdb.Any{}})
		if err != nil {
			t.Fatalf("%s: %v", stream, err)
		}
		last := readAll(t, c, esdb.ReadAllOptions{From: esdb.End{}, Direction: esdb.Backwards})[0].Event
		if last.EventType != "$streamDeleted" || last.EventNumber != 1<<63-1 || last.Position != res.Position ||
			last.StreamID != stream {
			t.Fatalf("%s: last event is %+v", stream, last)
		}
		_, err = c.TombstoneStream(testContext(t), stream, esdb.TombstoneStreamOptions{ExpectedRevision: esdb.Any{}})
		wantCode(t, err, esdb.ErrorCodeStreamDeleted)
		wantCode(t, deleteStream(t, c, stream, esdb.Any{}), esdb.ErrorCodeStreamDeleted)
		for _, name := range []string{stream, "$$" + stream} {
			_, err = c.AppendToStream(testContext(t), name, esdb.AppendToStreamOptions{}, event("x"))
			wantCode(t, err, esdb.ErrorCodeStreamDeleted)
			_, err = readStream(t, c, name, esdb.ReadStreamOptions{From: esdb.Start{}})
			wantCode(t, err, esdb.ErrorCodeStreamDeleted)
		}
		_, err = c.SubscribeToStream(testContext(t), stream, esdb.SubscribeToStreamOptions{From: esdb.Start{}})
		if err == nil {
			t.Fatalf("%s: subscribed to a tombstoned stream", stream)
		}
	}
}

func TestTombstoneEndsSubscription(t *testing.T) {
	t.Parallel()
	c := dial(t, open(t))
	appendTo(t, c, "s", esdb.NoStream{}, "a")
	sub, err := c.SubscribeToStream(testContext(t), "s", esdb.SubscribeToStreamOptions{From: esdb.End{}})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	if ev := sub.Recv(); ev.CaughtUp == nil {
		t.Fatalf("got %+v, want caught up", ev)
	}
	if _, err := c.TombstoneStream(
		testContext(t), "s", esdb.TombstoneStreamOptions{ExpectedRevision: esdb.Any{}},
	); err != nil {
		t.Fatal(err)
	}
	if ev := sub.Recv(); ev.EventAppeared == nil || ev.EventAppeared.Event.EventType != "$streamDeleted" {
		t.Fatalf("got %+v, want the tombstone", ev)
	}
	if ev := sub.Recv(); ev.SubscriptionDropped == nil ||
		status.Code(ev.SubscriptionDropped.Error) != codes.FailedPrecondition {
		t.Fatalf("got %+v, want the end", ev)
	}
}
