package writes_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"linkledger/events/embedded"
	"linkledger/events/embedded/request"
	"linkledger/events/embedded/servertest"
	"linkledger/events/embedded/wire"
)

type batchClient struct {
	t    *testing.T
	call streams.Streams_BatchAppendClient
}

func openBatch(t *testing.T, s *servertest.Server) *batchClient {
	t.Helper()
	call, err := servertest.DialRaw(t, s).BatchAppend(servertest.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	return &batchClient{t, call}
}

func (b *batchClient) send(reqs ...*streams.BatchAppendReq) {
	b.t.Helper()
	for _, req := range reqs {
		if err := b.call.Send(req); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *batchClient) recv() *streams.BatchAppendResp {
	b.t.Helper()
	resp, err := b.call.Recv()
	if err != nil {
		b.t.Fatal(err)
	}
	return resp
}

// end half-closes the call and checks that no more responses follow.
func (b *batchClient) end() {
	b.t.Helper()
	if err := b.call.CloseSend(); err != nil {
		b.t.Fatal(err)
	}
	if resp, err := b.call.Recv(); !errors.Is(err, io.EOF) {
		b.t.Fatalf("%v, %v after the last answer", resp, err)
	}
}

func frame(id uuid.UUID, stream string, final bool, names ...string) *streams.BatchAppendReq {
	req := &streams.BatchAppendReq{CorrelationId: wire.UUID(id, false), IsFinal: final}
	if stream != "" {
		req.Options = &streams.BatchAppendReq_Options{
			StreamIdentifier:       wire.StreamIdentifier(stream),
			ExpectedStreamPosition: &streams.BatchAppendReq_Options_NoStream{NoStream: &emptypb.Empty{}},
		}
	}
	for _, name := range names {
		m := servertest.Proposed(name)
		req.ProposedMessages = append(req.ProposedMessages, &streams.BatchAppendReq_ProposedMessage{
			Id: m.Id, Metadata: m.Metadata, Data: m.Data, CustomMetadata: m.CustomMetadata,
		})
	}
	return req
}

func TestBatchAppendInterleaved(t *testing.T) {
	t.Parallel()
	s := servertest.Open(t)
	b := openBatch(t, s)
	one, two := uuid.New(), uuid.New()
	b.send(frame(one, "one", false, "a"), frame(two, "two", false, "x"), frame(one, "", false, "b"))
	b.send(frame(two, "", true, "y", "z"))
	resp := b.recv()
	if id, _ := request.ParseUUID(resp.CorrelationId); id != two || resp.GetSuccess().GetCurrentRevision() != 2 ||
		string(resp.StreamIdentifier.StreamName) != "two" {
		t.Fatalf("got %v", resp)
	}
	b.send(frame(one, "", true))
	resp = b.recv()
	if id, _ := request.ParseUUID(resp.CorrelationId); id != one || resp.GetSuccess().GetCurrentRevision() != 1 ||
		resp.GetSuccess().GetPosition().GetCommitPosition() != s.Stat().Head {
		t.Fatalf("got %v", resp)
	}
	b.end()
}

func TestBatchAppendErrors(t *testing.T) {
	t.Parallel()
	s := servertest.Open(t, func(c *embedded.Config) { c.MaxAppendSize = 100 })
	c := servertest.Dial(t, s)
	servertest.Append(t, c, "live", esdb.NoStream{}, "a")
	if _, err := c.TombstoneStream(
		t.Context(), "gone", esdb.TombstoneStreamOptions{ExpectedRevision: esdb.Any{}},
	); err != nil {
		t.Fatal(err)
	}
	late := frame(uuid.New(), "s", true, "a")
	late.Options.DeadlineOption = &streams.BatchAppendReq_Options_Deadline_21_10_0{
		Deadline_21_10_0: timestamppb.New(time.Now().Add(-time.Second)),
	}
	noExpectation := frame(uuid.New(), "s", true, "a")
	noExpectation.Options.ExpectedStreamPosition = nil
	noType := frame(uuid.New(), "s", true, "a")
	noType.ProposedMessages[0].Metadata = nil
	for name, tc := range map[string]struct {
		req    *streams.BatchAppendReq
		code   codes.Code
		text   string
		detail string
	}{
		"wrong version": {
			frame(uuid.New(), "live", true, "b"), codes.AlreadyExists, "WrongExpectedVersion", "WrongExpectedVersion",
		},
		"tombstoned": {frame(uuid.New(), "gone", true, "b"), codes.NotFound, "StreamDeleted", "StreamDeleted"},
		"denied": {
			frame(uuid.New(), "$all", true, "b"), codes.PermissionDenied, "AccessDenied", "AccessDenied",
		},
		"too large": {
			frame(uuid.New(), "s", true, strings.Repeat("x", 100)), codes.InvalidArgument, "MaximumAppendSizeExceeded",
			"MaximumAppendSizeExceeded",
		},
		"late":           {late, codes.DeadlineExceeded, "Timeout", "Timeout"},
		"no options":     {frame(uuid.New(), "", true, "b"), codes.InvalidArgument, "BadRequest", "BadRequest"},
		"no expectation": {noExpectation, codes.InvalidArgument, "BadRequest", "BadRequest"},
		"no type":        {noType, codes.InvalidArgument, "BadRequest", "BadRequest"},
	} {
		b := openBatch(t, s)
		b.send(tc.req)
		resp := b.recv()
		e := resp.GetError()
		if codes.Code(e.GetCode()) != tc.code || e.GetMessage() != tc.text || resp.GetStreamIdentifier() == nil ||
			len(
				e.GetDetails(),
			) != 1 || e.GetDetails()[0].GetTypeUrl() != "type.googleapis.com/event_store.client."+tc.detail {
			t.Errorf("%s: got %v", name, resp)
		}
		var wrong shared.WrongExpectedVersion
		if tc.detail == "WrongExpectedVersion" {
			if err := e.Details[0].UnmarshalTo(&wrong); err != nil || wrong.GetCurrentStreamRevision() != 0 ||
				wrong.GetExpectedNoStream() == nil {
				t.Errorf("%s: detail %v, %v", name, &wrong, err)
			}
		}
		b.end()
	}
}

func TestBatchAppendAnswersOnce(t *testing.T) {
	t.Parallel()
	s := servertest.Open(t, func(c *embedded.Config) { c.MaxAppendSize = 100 })
	b := openBatch(t, s)
	refused, expiring := uuid.New(), uuid.New()
	b.send(frame(refused, "s", false, strings.Repeat("x", 100)))
	if b.recv().GetError() == nil {
		t.Fatal("too large a batch was accepted")
	}
	b.send(frame(refused, "", false, "a"), frame(refused, "", true, "b"))
	short := frame(expiring, "t", false, "a")
	short.Options.DeadlineOption = &streams.BatchAppendReq_Options_Deadline{Deadline: durationpb.New(time.Millisecond)}
	b.send(short)
	resp := b.recv()
	if id, _ := request.ParseUUID(resp.CorrelationId); id != expiring ||
		codes.Code(resp.GetError().GetCode()) != codes.DeadlineExceeded {
		t.Fatalf("got %v, want a timeout", resp)
	}
	b.send(frame(expiring, "", true, "b"))
	unfinished := uuid.New()
	b.send(frame(unfinished, "u", false, "a"))
	if err := b.call.CloseSend(); err != nil {
		t.Fatal(err)
	}
	resp = b.recv()
	if id, _ := request.ParseUUID(resp.CorrelationId); id != unfinished || resp.GetError() == nil {
		t.Fatalf("got %v, want the unfinished batch refused", resp)
	}
	b.end()
	if got := s.Stat().Events; got != uint64(servertest.NewStoreEvents) {
		t.Fatalf("%d events, want nothing written", got)
	}
}

func TestBatchAppendAnswersAllAfterHalfClose(t *testing.T) {
	t.Parallel()
	s := servertest.Open(t)
	b := openBatch(t, s)
	const batches = 50
	for i := range batches {
		b.send(frame(uuid.New(), "s"+strings.Repeat("x", i), true, "a"))
	}
	if err := b.call.CloseSend(); err != nil {
		t.Fatal(err)
	}
	for range batches {
		if resp := b.recv(); resp.GetSuccess() == nil {
			t.Fatalf("got %v", resp)
		}
	}
	b.end()
}
