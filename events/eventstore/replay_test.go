package eventstore_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"linkledger/events/embedded/recordedtest"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
)

// atCheckpoint is where replayed reads of the log begin, and replayedHead is where that log ends.
// The events of a recorded response lie between them.
var (
	atCheckpoint = eventstore.Position{Commit: 500, Prepare: 500}
	replayedHead = eventstore.Position{Commit: 10_000, Prepare: 10_000}
)

// replay is a server that returns the recorded response of a real server to any append and to most
// reads. Reads of the end of the log and of the checkpoint have separate responses.
type replay struct {
	streams.UnimplementedStreamsServer
	t      *testing.T
	answer recordedtest.Case
	at     recordedtest.Case // response to a read of one event at the checkpoint
	head   eventstore.Position
}

func (r *replay) open() *eventstore.Store {
	r.t.Helper()
	listener := eventstoretest.Listen(r.t)
	server := grpc.NewServer()
	streams.RegisterStreamsServer(server, r)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	r.t.Cleanup(func() {
		server.Stop()
		if err := <-ended; err != nil {
			r.t.Error(err)
		}
	})
	return eventstoretest.Open(r.t, "esdb://"+listener.Addr().String()+"?tls=false")
}

// Read implements streams.StreamsServer.
func (r *replay) Read(request *streams.ReadReq, call streams.Streams_ReadServer) error {
	options := request.GetOptions()
	answer := r.answer
	switch {
	case options.GetAll().GetEnd() != nil:
		return call.Send(r.response(recordedtest.Message{"event": nil}, r.head.Commit))
	case options.GetAll().GetPosition() != nil && options.GetCount() == 1:
		answer = r.at
	}
	for i, m := range answer.Messages {
		if err := call.Send(r.response(m, atCheckpoint.Commit+uint64(i)+1)); err != nil {
			return err
		}
	}
	if answer.Status == "" && options.GetSubscription() != nil || answer.Silent() {
		<-call.Context().Done()
		return call.Context().Err()
	}
	for name, value := range answer.Trailers {
		call.SetTrailer(metadata.Pairs(name, value))
	}
	return refusedWith(r.t, answer.Status, answer.Details)
}

// BatchAppend implements streams.StreamsServer.
func (r *replay) BatchAppend(call streams.Streams_BatchAppendServer) error {
	for {
		request, err := call.Recv()
		if err != nil {
			return nil //nolint:nilerr // the client has finished
		}
		for _, m := range r.answer.Messages {
			answer, m := &streams.BatchAppendResp{}, maps.Clone(m)
			failed, _ := m["error"].(map[string]any)
			delete(m, "error")
			named := m["correlation_id"] != nil
			delete(m, "correlation_id")
			r.fill(m, answer, atCheckpoint.Commit)
			if named {
				answer.CorrelationId = request.GetCorrelationId()
			}
			if failed != nil {
				code := status.Code(refusedWith(r.t, failed["code"].(string), ""))
				answer.Result = &streams.BatchAppendResp_Error{Error: &rpcstatus.Status{
					Code: int32(code), Message: failed["message"].(string),
				}}
			}
			if err := call.Send(answer); err != nil {
				return err
			}
		}
	}
}

func (r *replay) response(m recordedtest.Message, position uint64) *streams.ReadResp {
	answer := &streams.ReadResp{}
	for name, value := range m {
		if value == nil { // recorded in part
			m = recordedtest.Message{"event": map[string]any{"event": map[string]any{
				"commit_position": "P", "prepare_position": "P",
				"stream_identifier": map[string]any{"stream_name": "s1"},
				"metadata":          map[string]any{"type": "t", "created": "T"},
			}}}
			if name != "event" {
				m = recordedtest.Message{name: map[string]any{}}
			}
		}
	}
	r.fill(m, answer, position)
	return answer
}

// fill decodes a recorded message.
func (r *replay) fill(m recordedtest.Message, into proto.Message, position uint64) {
	text, err := json.Marshal(restored(m, position))
	if err == nil {
		err = protojson.Unmarshal(text, into)
	}
	if err != nil {
		r.t.Errorf("%d %s: %v", r.answer.Number, r.answer.Name, err)
	}
}

// restored replaces omitted parts with values.
func restored(m map[string]any, position uint64) map[string]any {
	whole := make(map[string]any, len(m))
	for name, value := range m {
		switch text, _ := value.(string); {
		case text == "P":
			value = strconv.FormatUint(position, 10)
		case text == "T":
			value = "17000000000000000"
		case name == "data", name == "stream_name":
			value = base64.StdEncoding.EncodeToString([]byte(text))
		case name == "id":
			value = map[string]any{"structured": map[string]any{"most_significant_bits": "1"}}
		default:
			if inner, ok := value.(map[string]any); ok {
				value = restored(inner, position)
			}
		}
		whole[name] = value
	}
	return whole
}

func refusedWith(t *testing.T, name, details string) error {
	t.Helper()
	var code codes.Code
	if name == "" {
		return nil
	}
	if err := code.UnmarshalJSON([]byte(strconv.Quote(name))); err != nil {
		t.Error(err)
	}
	return status.Error(code, details)
}

// countOf returns the number of messages of a kind in a response.
func countOf(c recordedtest.Case, kind string) (n int) {
	for _, m := range c.Messages {
		if _, ok := m[kind]; ok {
			n++
		}
	}
	return n
}

// TestRecordedAnswers replays the recorded responses of real servers to the calls that Linkledger
// makes.
func TestRecordedAnswers(t *testing.T) {
	t.Parallel()
	for _, version := range recordedtest.Versions() {
		cases, err := recordedtest.Load(version)
		if err != nil {
			t.Fatal(err)
		}
		inside := cases[114]
		for number, c := range cases {
			r := replay{t: t, answer: c, at: inside, head: replayedHead}
			var call func(context.Context, *eventstore.Store) error
			want := expected(c)
			switch {
			case number >= 49 && number <= 80, number == 87, number == 89, number == 95, number == 96, number == 100:
				call = readOnce
			case number >= 102 && number <= 117:
				call = func(ctx context.Context, store *eventstore.Store) error { return readOn(ctx, store, c) }
				if c.Status == "" && countOf(c, "event") == 0 { // the checkpoint is after the end
					r.head, want = eventstore.Position{Commit: 400, Prepare: 400}, eventstore.ErrPositionInvalid
				}
				if c.Status == "UNKNOWN" || c.Status == "INVALID_ARGUMENT" {
					want = eventstore.ErrPositionInvalid
				}
			case number >= 118 && number <= 133:
				call = func(ctx context.Context, store *eventstore.Store) error { return followOn(ctx, store, c) }
				switch {
				case number == 131, c.Status == "INVALID_ARGUMENT":
					want = eventstore.ErrPositionInvalid
				case c.Status == "UNKNOWN": // the checkpoint is not the reason
					r.at = cases[52]
				case countOf(c, "caught_up") == 0 && c.Status == "":
					want = eventstore.ErrUnavailable
				}
			case number >= 134 && number <= 146 && number != 143: // Linkledger never appends zero events
				call = func(ctx context.Context, store *eventstore.Store) error { return appendOnce(ctx, store, c) }
			default:
				continue // Linkledger does not make this call
			}
			t.Run(fmt.Sprintf("%s %d %s", version, number, c.Name), func(t *testing.T) {
				t.Parallel()
				r.t = t
				ctx := t.Context()
				if errors.Is(want, eventstore.ErrUnavailable) { // this error is retried
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, 300*time.Millisecond)
					defer cancel()
				}
				err := call(ctx, r.open())
				if !errors.Is(err, want) || want == nil && err != nil {
					t.Errorf("%v, want %v", err, want)
				}
				if want != nil && !errors.Is(want, eventstore.ErrUnavailable) &&
					errors.Is(err, eventstore.ErrUnavailable) {
					t.Errorf("treated as an outage: %v", err)
				}
			})
		}
	}
}

// expected returns the error of a response, except for errors of the position in the log.
func expected(c recordedtest.Case) error {
	switch c.Status {
	case "":
	case "FAILED_PRECONDITION":
		return eventstore.ErrStreamDeleted
	case "INVALID_ARGUMENT":
		return eventstore.ErrInvalid
	default:
		return eventstore.ErrUnavailable
	}
	if len(c.Messages) == 0 || countOf(c, "stream_not_found") > 0 {
		return eventstore.ErrNotFound
	}
	failed, _ := c.Messages[0]["error"].(map[string]any)
	if failed == nil {
		return nil
	}
	if c.Messages[0]["correlation_id"] == nil {
		return eventstore.ErrUnavailable // the response does not name a request that was sent
	}
	switch failed["message"] {
	case "WrongExpectedVersion":
		return eventstore.ErrWrongRevision
	case "StreamDeleted":
		return eventstore.ErrStreamDeleted
	case "MaximumAppendSizeExceeded":
		return eventstore.ErrTooLarge
	}
	return eventstore.ErrInvalid
}

func readOnce(ctx context.Context, store *eventstore.Store) error {
	_, err := store.First(ctx, "s1")
	return err
}

// readOn reads the log from the checkpoint to the last event of the response.
func readOn(ctx context.Context, store *eventstore.Store, c recordedtest.Case) error {
	want, read := countOf(c, "event"), 0
	end := eventstore.Position{
		Commit: atCheckpoint.Commit + uint64(max(want, 1)), Prepare: atCheckpoint.Prepare + uint64(max(want, 1)),
	}
	err := store.ReadWholeLog(ctx, atCheckpoint, end, func(batch []eventstore.Recorded) error {
		read += len(batch)
		return nil
	})
	if err == nil && read != want {
		return fmt.Errorf("%d events, want %d", read, want)
	}
	return err
}

// followOn counts the backlog after the checkpoint, and checks that it contains the events of the
// response.
func followOn(ctx context.Context, store *eventstore.Store, c recordedtest.Case) error {
	b, err := store.Backlog(ctx, atCheckpoint, eventstore.Filter{Streams: []string{"s"}}, 1000)
	if want := countOf(c, "event"); err == nil && b.Events != want {
		return fmt.Errorf("%d events, want %d", b.Events, want)
	}
	return err
}

func appendOnce(ctx context.Context, store *eventstore.Store, c recordedtest.Case) error {
	labels := []string{"a"}
	if len(c.Messages) > 0 {
		success, _ := c.Messages[0]["success"].(map[string]any)
		last, _ := success["current_revision"].(string)
		n, _ := strconv.Atoi(last)
		labels = slices.Repeat(labels, n+1)
	}
	_, err := store.Append(ctx, eventstoretest.TagWrite("b1", eventstore.NoStream, uuid.New(), labels...))
	return err
}
