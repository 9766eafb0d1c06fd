package embedded

import (
	"math"
	"strconv"
	"sync"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"linkledger/events/embedded/record"
	"linkledger/events/embedded/wire"
)

func proposedWire(name string) *streams.AppendReq_ProposedMessage {
	return &streams.AppendReq_ProposedMessage{
		Id:       wire.UUID(event(name).EventID, true),
		Metadata: map[string]string{"type": "test.happened.v1", "content-type": record.ContentBinary},
		Data:     []byte(name),
	}
}

// rawAppend sends the given messages, even if the official client would never send them.
func rawAppend(t *testing.T, raw streams.StreamsClient, reqs ...*streams.AppendReq) (*streams.AppendResp, error) {
	t.Helper()
	call, err := raw.Append(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, req := range reqs {
		if err := call.Send(req); err != nil {
			t.Fatalf("the server answered before the end of the request: %v", err)
		}
	}
	return call.CloseAndRecv()
}

func optionsReq(stream string, change ...func(*streams.AppendReq_Options)) *streams.AppendReq {
	opts := &streams.AppendReq_Options{
		StreamIdentifier:       wire.StreamIdentifier(stream),
		ExpectedStreamRevision: &streams.AppendReq_Options_Any{Any: &shared.Empty{}},
	}
	for _, f := range change {
		f(opts)
	}
	return &streams.AppendReq{Content: &streams.AppendReq_Options_{Options: opts}}
}

func eventReq(m *streams.AppendReq_ProposedMessage) *streams.AppendReq {
	return &streams.AppendReq{Content: &streams.AppendReq_ProposedMessage_{ProposedMessage: m}}
}

func TestMalformedAppends(t *testing.T) {
	t.Parallel()
	raw := dialRaw(t, open(t))
	without := func(change func(*streams.AppendReq_ProposedMessage)) *streams.AppendReq {
		m := proposedWire("a")
		change(m)
		return eventReq(m)
	}
	good := eventReq(proposedWire("a"))
	for name, reqs := range map[string][]*streams.AppendReq{
		"nothing":       nil,
		"no options":    {good},
		"options twice": {optionsReq("s"), good, optionsReq("s")},
		"no stream":     {optionsReq(""), good},
		"only $$":       {optionsReq("$$"), good},
		"no expectation": {
			optionsReq("s", func(o *streams.AppendReq_Options) { o.ExpectedStreamRevision = nil }), good,
		},
		"no id": {optionsReq("s"), without(func(m *streams.AppendReq_ProposedMessage) { m.Id = nil })},
		"malformed id": {
			optionsReq("s"),
			without(
				func(m *streams.AppendReq_ProposedMessage) { m.Id.GetValue().(*shared.UUID_String_).String_ = "x" },
			),
		},
		"empty id": {
			optionsReq("s"),
			without(func(m *streams.AppendReq_ProposedMessage) { m.Id = wire.UUID([16]byte{}, false) }),
		},
		"no type": {
			optionsReq("s"), without(func(m *streams.AppendReq_ProposedMessage) { delete(m.Metadata, "type") }),
		},
		"empty type": {
			optionsReq("s"), without(func(m *streams.AppendReq_ProposedMessage) { m.Metadata["type"] = "" }),
		},
		"no content type": {
			optionsReq("s"), without(func(m *streams.AppendReq_ProposedMessage) { delete(m.Metadata, "content-type") }),
		},
		"huge revision": {optionsReq("s", func(o *streams.AppendReq_Options) {
			o.ExpectedStreamRevision = &streams.AppendReq_Options_Revision{Revision: math.MaxInt64 + 1}
		}), good},
	} {
		if _, err := rawAppend(t, raw, reqs...); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v, want InvalidArgument", name, err)
		}
	}
	if _, err := rawAppend(t, raw, optionsReq("$all"), good); status.Code(err) != codes.PermissionDenied {
		t.Errorf("$all: %v, want PermissionDenied", err)
	}
}

func TestAppendSizeLimit(t *testing.T) {
	t.Parallel()
	s := open(t, func(c *Config) { c.MaxAppendSize = 1000 })
	raw := dialRaw(t, s)
	big := proposedWire("big")
	big.Data = make([]byte, 1000-2*len(big.Metadata["type"]))
	if _, err := rawAppend(t, raw, optionsReq("s"), eventReq(big)); err != nil {
		t.Fatalf("exactly the limit: %v", err)
	}
	call, err := raw.Append(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	big.Data = make([]byte, 1000)
	reqs := []*streams.AppendReq{optionsReq("s"), eventReq(big)}
	// The rest is too large to be in transit when the server decides to refuse the append. The
	// client can send all of it only if the server reads to the end.
	rest := proposedWire("rest")
	rest.Data = make([]byte, 1<<20)
	for range 8 {
		reqs = append(reqs, eventReq(rest))
	}
	for _, req := range reqs {
		if err := call.Send(req); err != nil {
			t.Fatalf("the server answered before the end of the request: %v", err)
		}
	}
	_, err = call.CloseAndRecv()
	trailer := call.Trailer()
	if status.Code(err) != codes.InvalidArgument || trailer.Get("exception")[0] != "maximum-append-size-exceeded" ||
		trailer.Get("maximum-append-size")[0] != strconv.Itoa(1000) {
		t.Fatalf("%v, trailers %v", err, trailer)
	}
	if got := s.Stat().Events; got != uint64(newStoreEvents)+1 {
		t.Fatalf("%d events, want the refused append to leave nothing", got)
	}
}

func TestAppendNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	raw := dialRaw(t, s)
	resp, err := rawAppend(t, raw, optionsReq("s"))
	if err != nil || resp.GetSuccess().GetNoStream() == nil ||
		resp.GetSuccess().GetPosition().GetCommitPosition() != s.Stat().Head {
		t.Fatalf("missing stream: %v, %v", resp, err)
	}
	if _, err := rawAppend(
		t, raw, optionsReq("s"), eventReq(proposedWire("a")), eventReq(proposedWire("b")),
	); err != nil {
		t.Fatal(err)
	}
	if resp, err = rawAppend(t, raw, optionsReq("s")); err != nil || resp.GetSuccess().GetCurrentRevision() != 1 {
		t.Fatalf("live stream: %v, %v", resp, err)
	}
}

func TestWrongVersionBody(t *testing.T) {
	t.Parallel()
	raw := dialRaw(t, open(t))
	maxRevision := func(o *streams.AppendReq_Options) {
		o.ExpectedStreamRevision = &streams.AppendReq_Options_Revision{Revision: math.MaxUint64}
	}
	if _, err := rawAppend(t, raw, optionsReq("s", maxRevision), eventReq(proposedWire("a"))); err != nil {
		t.Fatalf("the largest revision means no stream: %v", err)
	}
	resp, err := rawAppend(t, raw, optionsReq("s", maxRevision), eventReq(proposedWire("b")))
	w := resp.GetWrongExpectedVersion()
	if err != nil || w.GetCurrentRevision() != 0 || w.GetExpectedNoStream() == nil ||
		w.GetExpectedRevision_20_6_0() != math.MaxUint64 {
		t.Fatalf("%v, %v", resp, err)
	}
	exists := func(o *streams.AppendReq_Options) {
		o.ExpectedStreamRevision = &streams.AppendReq_Options_StreamExists{StreamExists: &shared.Empty{}}
	}
	resp, err = rawAppend(t, raw, optionsReq("none", exists), eventReq(proposedWire("a")))
	w = resp.GetWrongExpectedVersion()
	if err != nil || w.GetCurrentNoStream() == nil || w.GetNoStream_20_6_0() == nil ||
		w.GetExpectedStreamExists() == nil || w.GetStreamExists_20_6_0() == nil {
		t.Fatalf("%v, %v", resp, err)
	}
}

func TestRecordedForm(t *testing.T) {
	t.Parallel()
	c := dial(t, open(t))
	ev := event("a")
	ev.ContentType, ev.Metadata = esdb.ContentTypeBinary, []byte("meta\x00")
	if _, err := c.AppendToStream(testContext(t), "ström", esdb.AppendToStreamOptions{}, ev); err != nil {
		t.Fatal(err)
	}
	got, err := readStream(t, c, "ström", esdb.ReadStreamOptions{From: esdb.Start{}})
	if err != nil {
		t.Fatal(err)
	}
	e := got[0].Event
	if e.StreamID != "ström" || e.ContentType != record.ContentBinary || string(e.UserMetadata) != "meta\x00" ||
		e.EventID != ev.EventID || e.CreatedDate.IsZero() {
		t.Fatalf("got %+v", e)
	}
	if _, err := c.TombstoneStream(
		testContext(t), "ström", esdb.TombstoneStreamOptions{ExpectedRevision: esdb.Any{}},
	); err != nil {
		t.Fatal(err)
	}
	_, err = readStream(t, c, "ström", esdb.ReadStreamOptions{From: esdb.Start{}})
	wantCode(t, err, esdb.ErrorCodeStreamDeleted)
}

func TestOneWinnerPerRevision(t *testing.T) {
	t.Parallel()
	const callers, revisions = 16, 40
	c := dial(t, open(t))
	wins := make([]int, revisions)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			for r := range revisions {
				expected := esdb.ExpectedRevision(esdb.NoStream{})
				if r > 0 {
					expected = esdb.Revision(uint64(r - 1))
				}
				ev := event(strconv.Itoa(caller) + "/" + strconv.Itoa(r))
				for {
					_, err := c.AppendToStream(
						testContext(t), "s", esdb.AppendToStreamOptions{ExpectedRevision: expected}, ev,
					)
					if err == nil {
						mu.Lock()
						wins[r]++
						mu.Unlock()
					} else if errorCode(err) != esdb.ErrorCodeWrongExpectedVersion {
						t.Error(err)
						return
					} else if got, err := readStream(
						t, c, "s", esdb.ReadStreamOptions{From: esdb.Start{}},
					); err != nil || len(got) <= r {
						continue // the revision is still too low
					}
					break
				}
			}
		})
	}
	wg.Wait()
	for r, n := range wins {
		if n != 1 {
			t.Errorf("revision %d was won %d times", r, n)
		}
	}
}
