package writes_test

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

	"linkledger/events/embedded"
	"linkledger/events/embedded/record"
	"linkledger/events/embedded/servertest"
	"linkledger/events/embedded/wire"
)

func TestMalformedAppends(t *testing.T) {
	t.Parallel()
	raw := servertest.DialRaw(t, servertest.Open(t))
	without := func(change func(*streams.AppendReq_ProposedMessage)) *streams.AppendReq {
		m := servertest.Proposed("a")
		change(m)
		return servertest.EventReq(m)
	}
	good := servertest.EventReq(servertest.Proposed("a"))
	for name, reqs := range map[string][]*streams.AppendReq{
		"nothing":       nil,
		"no options":    {good},
		"options twice": {servertest.OptionsReq("s"), good, servertest.OptionsReq("s")},
		"no stream":     {servertest.OptionsReq(""), good},
		"only $$":       {servertest.OptionsReq("$$"), good},
		"no expectation": {
			servertest.OptionsReq("s", func(o *streams.AppendReq_Options) { o.ExpectedStreamRevision = nil }), good,
		},
		"no id": {servertest.OptionsReq("s"), without(func(m *streams.AppendReq_ProposedMessage) { m.Id = nil })},
		"malformed id": {
			servertest.OptionsReq("s"),
			without(
				func(m *streams.AppendReq_ProposedMessage) { m.Id.GetValue().(*shared.UUID_String_).String_ = "x" },
			),
		},
		"empty id": {
			servertest.OptionsReq("s"),
			without(func(m *streams.AppendReq_ProposedMessage) { m.Id = wire.UUID([16]byte{}, false) }),
		},
		"no type": {
			servertest.OptionsReq("s"), without(func(m *streams.AppendReq_ProposedMessage) { delete(m.Metadata, "type") }),
		},
		"empty type": {
			servertest.OptionsReq("s"), without(func(m *streams.AppendReq_ProposedMessage) { m.Metadata["type"] = "" }),
		},
		"no content type": {
			servertest.OptionsReq("s"), without(func(m *streams.AppendReq_ProposedMessage) { delete(m.Metadata, "content-type") }),
		},
		"huge revision": {servertest.OptionsReq("s", func(o *streams.AppendReq_Options) {
			o.ExpectedStreamRevision = &streams.AppendReq_Options_Revision{Revision: math.MaxInt64 + 1}
		}), good},
	} {
		if _, err := servertest.RawAppend(t, raw, reqs...); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v, want InvalidArgument", name, err)
		}
	}
	if _, err := servertest.RawAppend(t, raw, servertest.OptionsReq("$all"), good); status.Code(err) != codes.PermissionDenied {
		t.Errorf("$all: %v, want PermissionDenied", err)
	}
}

func TestAppendSizeLimit(t *testing.T) {
	t.Parallel()
	s := servertest.Open(t, func(c *embedded.Config) { c.MaxAppendSize = 1000 })
	raw := servertest.DialRaw(t, s)
	big := servertest.Proposed("big")
	big.Data = make([]byte, 1000-2*len(big.Metadata["type"]))
	if _, err := servertest.RawAppend(t, raw, servertest.OptionsReq("s"), servertest.EventReq(big)); err != nil {
		t.Fatalf("exactly the limit: %v", err)
	}
	call, err := raw.Append(servertest.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	big.Data = make([]byte, 1000)
	reqs := []*streams.AppendReq{servertest.OptionsReq("s"), servertest.EventReq(big)}
	// The rest is too large to be in transit when the server decides to refuse the append. The
	// client can send all of it only if the server reads to the end.
	rest := servertest.Proposed("rest")
	rest.Data = make([]byte, 1<<20)
	for range 8 {
		reqs = append(reqs, servertest.EventReq(rest))
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
	if got := s.Stat().Events; got != uint64(servertest.NewStoreEvents)+1 {
		t.Fatalf("%d events, want the refused append to leave nothing", got)
	}
}

func TestAppendNothing(t *testing.T) {
	t.Parallel()
	s := servertest.Open(t)
	raw := servertest.DialRaw(t, s)
	resp, err := servertest.RawAppend(t, raw, servertest.OptionsReq("s"))
	if err != nil || resp.GetSuccess().GetNoStream() == nil ||
		resp.GetSuccess().GetPosition().GetCommitPosition() != s.Stat().Head {
		t.Fatalf("missing stream: %v, %v", resp, err)
	}
	if _, err := servertest.RawAppend(
		t, raw, servertest.OptionsReq("s"), servertest.EventReq(servertest.Proposed("a")), servertest.EventReq(servertest.Proposed("b")),
	); err != nil {
		t.Fatal(err)
	}
	if resp, err = servertest.RawAppend(t, raw, servertest.OptionsReq("s")); err != nil || resp.GetSuccess().GetCurrentRevision() != 1 {
		t.Fatalf("live stream: %v, %v", resp, err)
	}
}

func TestWrongVersionBody(t *testing.T) {
	t.Parallel()
	raw := servertest.DialRaw(t, servertest.Open(t))
	maxRevision := func(o *streams.AppendReq_Options) {
		o.ExpectedStreamRevision = &streams.AppendReq_Options_Revision{Revision: math.MaxUint64}
	}
	if _, err := servertest.RawAppend(t, raw, servertest.OptionsReq("s", maxRevision), servertest.EventReq(servertest.Proposed("a"))); err != nil {
		t.Fatalf("the largest revision means no stream: %v", err)
	}
	resp, err := servertest.RawAppend(t, raw, servertest.OptionsReq("s", maxRevision), servertest.EventReq(servertest.Proposed("b")))
	w := resp.GetWrongExpectedVersion()
	if err != nil || w.GetCurrentRevision() != 0 || w.GetExpectedNoStream() == nil ||
		w.GetExpectedRevision_20_6_0() != math.MaxUint64 {
		t.Fatalf("%v, %v", resp, err)
	}
	exists := func(o *streams.AppendReq_Options) {
		o.ExpectedStreamRevision = &streams.AppendReq_Options_StreamExists{StreamExists: &shared.Empty{}}
	}
	resp, err = servertest.RawAppend(t, raw, servertest.OptionsReq("none", exists), servertest.EventReq(servertest.Proposed("a")))
	w = resp.GetWrongExpectedVersion()
	if err != nil || w.GetCurrentNoStream() == nil || w.GetNoStream_20_6_0() == nil ||
		w.GetExpectedStreamExists() == nil || w.GetStreamExists_20_6_0() == nil {
		t.Fatalf("%v, %v", resp, err)
	}
}

func TestRecordedForm(t *testing.T) {
	t.Parallel()
	c := servertest.Dial(t, servertest.Open(t))
	ev := servertest.Event("a")
	ev.ContentType, ev.Metadata = esdb.ContentTypeBinary, []byte("meta\x00")
	if _, err := c.AppendToStream(servertest.Context(t), "ström", esdb.AppendToStreamOptions{}, ev); err != nil {
		t.Fatal(err)
	}
	got, err := servertest.ReadStream(t, c, "ström", esdb.ReadStreamOptions{From: esdb.Start{}})
	if err != nil {
		t.Fatal(err)
	}
	e := got[0].Event
	if e.StreamID != "ström" || e.ContentType != record.ContentBinary || string(e.UserMetadata) != "meta\x00" ||
		e.EventID != ev.EventID || e.CreatedDate.IsZero() {
		t.Fatalf("got %+v", e)
	}
	if _, err := c.TombstoneStream(
		servertest.Context(t), "ström", esdb.TombstoneStreamOptions{ExpectedRevision: esdb.Any{}},
	); err != nil {
		t.Fatal(err)
	}
	_, err = servertest.ReadStream(t, c, "ström", esdb.ReadStreamOptions{From: esdb.Start{}})
	servertest.WantCode(t, err, esdb.ErrorCodeStreamDeleted)
}

func TestOneWinnerPerRevision(t *testing.T) {
	t.Parallel()
	const callers, revisions = 16, 40
	c := servertest.Dial(t, servertest.Open(t))
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
				ev := servertest.Event(strconv.Itoa(caller) + "/" + strconv.Itoa(r))
				for {
					_, err := c.AppendToStream(
						servertest.Context(t), "s", esdb.AppendToStreamOptions{ExpectedRevision: expected}, ev,
					)
					if err == nil {
						mu.Lock()
						wins[r]++
						mu.Unlock()
					} else if servertest.ErrorCode(err) != esdb.ErrorCodeWrongExpectedVersion {
						t.Error(err)
						return
					} else if got, err := servertest.ReadStream(
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
