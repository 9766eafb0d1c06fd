package wire

import (
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"linkledger/events/eventstore/eventlog"
)

func drawn(t *rapid.T) eventlog.Recorded {
	bytes := rapid.SliceOfN(rapid.Byte(), 1, 300)
	return eventlog.Recorded{
		ID:       uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id")),
		Stream:   rapid.StringN(1, 3, -1).Draw(t, "stream"),
		Revision: eventlog.Revision(rapid.Int64Min(0).Draw(t, "revision")),
		Type:     rapid.StringN(1, 3, -1).Draw(t, "type"),
		Position: eventlog.Position{
			Commit: rapid.Uint64().Draw(t, "commit"), Prepare: rapid.Uint64().Draw(t, "prepare"),
		},
		Time: time.Unix(0, 100*rapid.Int64Range(-1e12, 1e16).Draw(t, "ticks")).UTC(),
		Data: bytes.Draw(t, "data"), Metadata: bytes.Draw(t, "metadata"),
	}
}

func onWire(r eventlog.Recorded) []byte {
	answer, err := proto.Marshal(&streams.ReadResp{Content: &streams.ReadResp_Event{Event: &streams.ReadResp_ReadEvent{
		Event: &streams.ReadResp_ReadEvent_RecordedEvent{
			Id: wireID(r.ID), StreamIdentifier: &shared.StreamIdentifier{StreamName: []byte(r.Stream)},
			StreamRevision:  uint64(r.Revision),
			PreparePosition: r.Position.Prepare, CommitPosition: r.Position.Commit, CustomMetadata: r.Metadata,
			Data: r.Data,
			Metadata: map[string]string{
				"type": r.Type, "content-type": "application/json",
				"created": strconv.FormatInt(r.Time.UnixNano()/100, 10),
			},
		},
		Position: &streams.ReadResp_ReadEvent_CommitPosition{CommitPosition: r.Position.Commit},
	}}})
	if err != nil {
		panic(err)
	}
	return answer
}

// TestDecodeEvent checks that events are decoded as protobuf encoded them, regardless of the
// previous events.
func TestDecodeEvent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := newDecoder()
		for range 3 {
			want := drawn(t)
			if got, err := d.decode(onWire(want)); err != nil ||
				!reflect.DeepEqual(got, Response{IsEvent: true, Event: want, Stored: want.Time}) {
				t.Fatalf("got %+v, %v, want %+v", got, err, want)
			}
		}
	})
}

func TestDecodeOther(t *testing.T) {
	t.Parallel()
	d := newDecoder()
	for _, c := range []struct {
		wire *streams.ReadResp
		want Response
	}{
		{&streams.ReadResp{Content: &streams.ReadResp_LastStreamPosition{LastStreamPosition: 7}}, Response{}},
		{
			&streams.ReadResp{
				Content: &streams.ReadResp_Confirmation{
					Confirmation: &streams.ReadResp_SubscriptionConfirmation{SubscriptionId: "x"},
				},
			},
			Response{},
		},
		{
			&streams.ReadResp{Content: &streams.ReadResp_FellBehind_{FellBehind: &streams.ReadResp_FellBehind{}}},
			Response{},
		},
		{
			&streams.ReadResp{Content: &streams.ReadResp_CaughtUp_{CaughtUp: &streams.ReadResp_CaughtUp{}}},
			Response{CaughtUp: true},
		},
		{
			&streams.ReadResp{
				Content: &streams.ReadResp_Checkpoint_{
					Checkpoint: &streams.ReadResp_Checkpoint{CommitPosition: 7, PreparePosition: 6},
				},
			},
			Response{Checkpoint: eventlog.Position{Commit: 7, Prepare: 6}},
		},
	} {
		wire, err := proto.Marshal(c.wire)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := d.decode(wire); !reflect.DeepEqual(got, c.want) || err != nil {
			t.Errorf("%v is %+v, %v", c.wire, got, err)
		}
	}
	for i := range 2 * maxTypes {
		if d.typeOf([]byte(strconv.Itoa(i))) != strconv.Itoa(i) || len(d.types) > maxTypes {
			t.Fatalf("%d types are remembered", len(d.types))
		}
	}
}

// FuzzDecodeEvent checks that a truncated or altered response yields an error or another event, and
// never a panic.
func FuzzDecodeEvent(f *testing.F) {
	f.Add(
		onWire(
			eventlog.Recorded{
				ID: uuid.Max, Stream: "url-1", Type: "x", Time: time.Unix(1, 0), Data: []byte("{}"),
				Metadata: []byte("{}"),
			},
		),
	)
	f.Fuzz(func(t *testing.T, received []byte) {
		d := newDecoder()
		if a, err := d.decode(received); err == nil && a.IsEvent && a.Event.Revision < 0 {
			t.Errorf("event %+v", a.Event)
		}
	})
}
