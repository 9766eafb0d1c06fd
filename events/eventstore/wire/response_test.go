package wire

import (
	"fmt"
	"math"
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

// FuzzDecodeEvent checks that a response is decoded as protobuf decodes it. A truncated or altered
// one yields an error or another event, and never a panic.
func FuzzDecodeEvent(f *testing.F) {
	usual := onWire(usualEvent())
	f.Add(usual)
	f.Add(usual[:len(usual)-1])
	f.Fuzz(func(t *testing.T, received []byte) {
		d := newDecoder()
		if a, err := d.decode(received); err == nil && a.IsEvent && a.Event.Revision < 0 {
			t.Errorf("event %+v", a.Event)
		}
		var read streams.ReadResp
		if (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(received, &read) != nil {
			return
		}
		written, err := proto.Marshal(&read) // as an event store writes it
		if err != nil {
			t.Fatal(err)
		}
		want, wrong := decodeByLibrary(written)
		if got, err := d.decode(written); (err == nil) != (wrong == nil) ||
			err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%x is decoded as\n%+v, %v, want\n%+v, %v", written, got, err, want, wrong)
		}
	})
}

// BenchmarkDecodeEvent compares the decoder with protobuf structs.
func BenchmarkDecodeEvent(b *testing.B) {
	received := onWire(usualEvent())
	d := newDecoder()
	for name, decode := range map[string]func() (Response, error){
		"own":     func() (Response, error) { return d.decode(received) },
		"library": func() (Response, error) { return decodeByLibrary(received) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if a, err := decode(); err != nil || !a.IsEvent {
					b.Fatal(err)
				}
			}
		})
	}
}

func usualEvent() eventlog.Recorded {
	id := uuid.Max.String()
	return eventlog.Recorded{
		ID: uuid.Max, Stream: "url-" + id, Type: "url.settings_changed.v1", Time: time.Unix(1e9, 0),
		Revision: 7, Position: eventlog.Position{Commit: 1e9, Prepare: 1e9},
		Data: []byte(`{"note":"a note that somebody has written","at":"2026-11-21T10:20:30.123456Z"}`),
		Metadata: fmt.Appendf(nil,
			`{"$correlationId":%q,"$causationId":%q,"account":%q,"key":"5f0c1a2b","request":%q}`, id, id, id, id),
	}
}

// decodeByLibrary decodes a response with protobuf structs.
func decodeByLibrary(received []byte) (a Response, err error) {
	var read streams.ReadResp
	if err := proto.Unmarshal(received, &read); err != nil {
		return a, err
	}
	reached := read.GetCheckpoint()
	a.Checkpoint = eventlog.Position{Commit: reached.GetCommitPosition(), Prepare: reached.GetPreparePosition()}
	a.CaughtUp, a.Missing = read.GetCaughtUp() != nil, read.GetStreamNotFound() != nil
	recorded := read.GetEvent().GetEvent()
	if recorded == nil {
		return a, nil
	}
	a.IsEvent = true
	a.Event = eventlog.Recorded{
		ID: IDOf(recorded.GetId()), Stream: string(recorded.GetStreamIdentifier().GetStreamName()),
		Revision: eventlog.Revision(min(recorded.GetStreamRevision(), math.MaxInt64)),
		Type:     recorded.GetMetadata()["type"],
		Position: eventlog.Position{Commit: recorded.GetCommitPosition(), Prepare: recorded.GetPreparePosition()},
		Metadata: recorded.GetCustomMetadata(), Data: recorded.GetData(),
	}
	if created, ok := recorded.GetMetadata()["created"]; ok {
		ticks, err := strconv.ParseInt(created, 10, 64)
		if err != nil {
			return a, err
		}
		a.Event.Time = time.Unix(ticks/1e7, ticks%1e7*100).UTC()
	}
	a.Stored = a.Event.Time
	a.Event.RestoreOrigin()
	return a, nil
}
