package reads_test

import (
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/protobuf/encoding/protowire"

	"linkledger/events/embedded/servertest"
	"linkledger/events/embedded/wire"
)

// wireFields has the fields of a message: numbers has the integers and bytes has all others.
type wireFields struct {
	numbers map[protowire.Number]uint64
	bytes   map[protowire.Number][]byte
}

func parseWire(t *testing.T, message []byte) wireFields {
	t.Helper()
	f := wireFields{map[protowire.Number]uint64{}, map[protowire.Number][]byte{}}
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		message = message[n:]
		if kind == protowire.VarintType {
			f.numbers[field], n = protowire.ConsumeVarint(message)
		} else {
			f.bytes[field], n = protowire.ConsumeBytes(message)
		}
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		message = message[n:]
	}
	return f
}

// near checks that stamp is a Timestamp within servertest.Timeout before now.
func near(t *testing.T, what string, stamp []byte) {
	t.Helper()
	f := parseWire(t, stamp)
	at := time.Unix(int64(f.numbers[1]), int64(f.numbers[2]))
	if off := time.Since(at); off < 0 || off > servertest.Timeout {
		t.Errorf("%s: at %s", what, at)
	}
}

// TestCaughtUp checks the fields that KurrentDB's protocol has and the client's stubs lack: the
// time and the position at which a subscription has caught up.
func TestCaughtUp(t *testing.T) {
	t.Parallel()
	s := servertest.Open(t)
	c, raw := servertest.Dial(t, s), servertest.DialRaw(t, s)
	servertest.Append(t, c, "s", esdb.NoStream{}, "a")
	servertest.Append(t, c, "t", esdb.NoStream{}, "a", "b", "c")
	head := s.Stat().Head
	start := &shared.Empty{}
	stream := func(name string, from any) *streams.ReadReq_Options_Stream {
		options := &streams.ReadReq_Options_StreamOptions{StreamIdentifier: wire.StreamIdentifier(name)}
		switch from := from.(type) {
		case int:
			options.RevisionOption = &streams.ReadReq_Options_StreamOptions_Revision{Revision: uint64(from)}
		default:
			options.RevisionOption = &streams.ReadReq_Options_StreamOptions_Start{Start: start}
		}
		return &streams.ReadReq_Options_Stream{Stream: options}
	}
	filtered := &streams.ReadReq_Options{
		StreamOption: &streams.ReadReq_Options_All{All: &streams.ReadReq_Options_AllOptions{
			AllOption: &streams.ReadReq_Options_AllOptions_Start{Start: start},
		}},
		FilterOption: &streams.ReadReq_Options_Filter{Filter: &streams.ReadReq_Options_FilterOptions{
			Filter: &streams.ReadReq_Options_FilterOptions_StreamIdentifier{
				StreamIdentifier: &streams.ReadReq_Options_FilterOptions_Expression{Prefix: []string{"s"}},
			},
			Window: &streams.ReadReq_Options_FilterOptions_Max{Max: 32}, CheckpointIntervalMultiplier: 1,
		}},
	}
	for name, tc := range map[string]struct {
		options  *streams.ReadReq_Options
		revision uint64
		position bool // has a position instead of a revision
	}{
		"stream":              {&streams.ReadReq_Options{StreamOption: stream("t", nil)}, 2, false},
		"stream of one event": {&streams.ReadReq_Options{StreamOption: stream("s", nil)}, 0, false},
		"stream behind 1":     {&streams.ReadReq_Options{StreamOption: stream("t", 1)}, 2, false},
		"no stream":           {&streams.ReadReq_Options{StreamOption: stream("none", nil)}, 0, true},
		"log":                 {filtered, 0, true},
	} {
		tc.options.CountOption = &streams.ReadReq_Options_Subscription{
			Subscription: &streams.ReadReq_Options_SubscriptionOptions{},
		}
		if tc.options.FilterOption == nil {
			tc.options.FilterOption = &streams.ReadReq_Options_NoFilter{NoFilter: start}
		}
		call, err := raw.Read(servertest.Context(t), &streams.ReadReq{Options: tc.options})
		if err != nil {
			t.Fatal(err)
		}
		for answer := (*streams.ReadResp)(nil); answer.GetCaughtUp() == nil; {
			if answer, err = call.Recv(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if checkpoint := answer.GetCheckpoint(); checkpoint != nil {
				near(t, name+": checkpoint", parseWire(t, checkpoint.ProtoReflect().GetUnknown()).bytes[3])
			}
			if caughtUp := answer.GetCaughtUp(); caughtUp != nil {
				f := parseWire(t, caughtUp.ProtoReflect().GetUnknown())
				near(t, name, f.bytes[1])
				revision, hasRevision := f.numbers[2]
				if hasRevision == tc.position || revision != tc.revision {
					t.Errorf("%s: revision %d, %v", name, revision, hasRevision)
				}
				if place, ok := f.bytes[3]; ok != tc.position || ok && parseWire(t, place).numbers[1] != head {
					t.Errorf("%s: position %x, the log ends at %x", name, place, head)
				}
			}
		}
	}
}
